//! Checks one Envoy and the filter in it, from its admin interface.

use burst_model::kube::PollOutcome;
use burst_model::time::Time;
use burst_model::version::Version;

use super::Check;
use super::admin::EnvoyInfo;
use super::stats::Stats;
use super::versions::{OLDEST_ENVOY, OLDEST_ISTIO};

/// The values that the stats are compared with.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// The current time.
    pub now: Time,
    /// `max_staleness` in seconds.
    pub max_staleness: u64,
}

/// All checks of one proxy.
pub(super) fn checks(of: &str, info: &EnvoyInfo, expected: Expected) -> Vec<Check> {
    let mut checks = vec![check_envoy_version(of, &info.envoy)];
    let stats = &info.stats;
    if !stats.has_filter() {
        checks.push(Check::problem(
            "filter",
            of,
            "Envoy has no stat burst_*: the filter never ran in it",
            "check whether Envoy accepted the configuration (istioctl proxy-status, ECDS), and look for Wasm in its log: an \
             image that cannot be fetched, a checksum, a rejected configuration",
        ));
        return checks;
    }
    checks.extend([
        check_filter(of, stats),
        check_filter_version(of, stats),
        check_poll(of, stats, expected),
        check_objects(of, stats),
        check_headers(of, stats),
    ]);
    checks
}

fn check_envoy_version(of: &str, version: &str) -> Check {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
    let (major, minor) = (parts.next().flatten(), parts.next().flatten());
    match (major, minor) {
        (Some(major), Some(minor)) if (major, minor) >= (1, OLDEST_ENVOY) => {
            Check::ok("envoy", of, format!("Envoy {version}"))
        }
        (Some(_), Some(_)) => Check::problem(
            "envoy",
            of,
            format!("Envoy {version} is older than 1.{OLDEST_ENVOY}"),
            format!("update the proxy; Istio has Envoy 1.{OLDEST_ENVOY} since 1.{OLDEST_ISTIO}"),
        ),
        _ => Check::unknown("envoy", of, "Envoy reports no version", "check its image"),
    }
}

fn check_filter(of: &str, stats: &Stats) -> Check {
    match stats.vms() {
        0 => Check::problem(
            "filter",
            of,
            "the filter has run in this Envoy, but no Wasm VM is running now",
            "look for Wasm in Envoy's log",
        ),
        vms => Check::ok("filter", of, format!("loaded; {vms} Wasm VMs run")),
    }
}

fn check_filter_version(of: &str, stats: &Stats) -> Check {
    const ADVICE: &str = "use burstctl and the filter of the same release; otherwise preview may be wrong";
    let burstctl_version = Version::own().map(|version| version.to_string()).unwrap_or_default();
    match stats.version() {
        Some(version) if version.to_string() == burstctl_version => {
            Check::ok("version", of, format!("filter {version}, the same as burstctl"))
        }
        Some(version) => Check::problem(
            "version",
            of,
            format!("filter {version}, and burstctl is {burstctl_version}"),
            ADVICE,
        ),
        None => Check::problem(
            "version",
            of,
            format!("the filter reports no version, and burstctl is {burstctl_version}"),
            ADVICE,
        ),
    }
}

fn check_poll(of: &str, stats: &Stats, expected: Expected) -> Check {
    let failed = stats.failed_polls();
    let since = match &failed[..] {
        [] => String::new(),
        failed => {
            let counts: Vec<_> = failed
                .iter()
                .map(|(outcome, count)| format!("{count} {}", outcome.as_str()))
                .collect();
            format!("; failed since Envoy started: {}", counts.join(", "))
        }
    };
    let advice = match failed.first() {
        Some((outcome, _)) => advice(*outcome),
        None => "look for burst-metrics in the proxy's log",
    };
    let Some(read_at) = stats.read_at() else {
        return Check::problem(
            "poll",
            of,
            format!("the Kubernetes API was never read in full{since}"),
            advice,
        );
    };
    let age = expected.now.unix_seconds().saturating_sub(read_at);
    let found = format!("the Kubernetes API was read {age} s ago{since}");
    if age <= expected.max_staleness {
        Check::ok("poll", of, found)
    } else {
        let too_old = format!("{found}; {} s are allowed", expected.max_staleness);
        Check::problem("poll", of, too_old, advice)
    }
}

/// How to fix polls that fail with this outcome.
fn advice(outcome: PollOutcome) -> &'static str {
    match outcome {
        PollOutcome::Unauthorized => "the API server rejects the token; see the token check, and check its audience",
        PollOutcome::Forbidden => {
            "the role does not allow a list; see the rbac check, and the proxy's log for its name"
        }
        PollOutcome::NotSent => "`cluster` names no Envoy cluster, or one without a host: apply base/kube-api.yaml",
        PollOutcome::Unreachable => "the proxy cannot reach the API server: its address, its CA, a NetworkPolicy",
        PollOutcome::NotFound => "`workloads` names a kind that the cluster does not serve in that version",
        _ => "look for burst-metrics in the proxy's log",
    }
}

fn check_objects(of: &str, stats: &Stats) -> Check {
    let count = |name| stats.filter_stat(name).unwrap_or(0);
    let (objects, services) = (count("objects"), count("services"));
    let found = format!("{objects} objects read; Services with replicas: {services}");
    let problems: Vec<_> = [
        ("bad_objects", "invalid objects"),
        ("unobserved_hpas", "HPAs that no controller has processed"),
        ("overshadowed_hpas", "HPAs whose target another HPA scales"),
    ]
    .into_iter()
    .filter(|(name, _)| count(name) > 0)
    .map(|(name, label)| format!("{} {label}", count(name)))
    .collect();
    if problems.is_empty() {
        Check::ok("objects", of, found)
    } else {
        let found = format!("{found}; {}", problems.join(", "));
        Check::problem("objects", of, found, "`burstctl preview` names them")
    }
}

fn check_headers(of: &str, stats: &Stats) -> Check {
    let added = stats.filter_stat("header_added_total").unwrap_or(0);
    let absent = stats.absent_headers();
    let counts: Vec<_> = absent
        .iter()
        .map(|(reason, count)| format!("{count} {reason}"))
        .collect();
    let without = match &counts[..] {
        [] => String::new(),
        counts => format!(", without: {}", counts.join(", ")),
    };
    // A Service without an HPA and a redirect have no header; that is normal.
    let is_unexpected = absent
        .iter()
        .any(|(reason, _)| !matches!(*reason, "no_entry" | "no_cluster" | "external"));
    let found = format!("{added} responses with the header{without}");
    if added == 0 && is_unexpected {
        Check::problem("headers", of, found, "docs/stats.md explains the reasons")
    } else {
        Check::ok("headers", of, found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    /// The stats of an Envoy 1.36 a second after the filter's first read, recorded by tests/cli/doctor.
    const RECORDED: &str = include_str!("../../tests/data/stats.txt");

    /// The check of that name, from the recorded stats with some values changed.
    fn check(about: &str, changes: &[(&str, u64)]) -> (Verdict, String) {
        let lines = RECORDED.lines().map(|line| {
            let (name, value) = line.split_once(": ").unwrap();
            let change = changes.iter().find(|(changed, _)| name.ends_with(changed));
            format!(
                "{name}: {}\n",
                change.map_or(value.to_owned(), |(_, value)| value.to_string())
            )
        });
        let info = EnvoyInfo {
            envoy: "1.36.2".to_owned(),
            stats: Stats::read(lines.collect::<String>().as_bytes()),
        };
        let expected = Expected {
            now: Time::from_unix_millis(1_700_000_100_000),
            max_staleness: 60,
        };
        let checks = checks("shop/gateway", &info, expected);
        let check = checks.iter().find(|check| check.name == about).unwrap();
        let advice = if check.advice.is_empty() { "" } else { " => " };
        (check.verdict, format!("{}{advice}{}", check.finding, check.advice))
    }

    const READ: &str = "burst_snapshot_timestamp_seconds";

    #[test]
    fn a_poll_is_judged_by_its_age() {
        for (changes, verdict, words) in [
            (
                &[(READ, 1_700_000_088)][..],
                Verdict::Ok,
                "the Kubernetes API was read 12 s ago",
            ),
            (
                &[(READ, 1_700_000_088), ("poll_timeout_total", 3)],
                Verdict::Ok,
                "the Kubernetes API was read 12 s ago; failed since Envoy started: 3 timeout",
            ),
            (
                &[
                    (READ, 1_700_000_000),
                    ("poll_timeout_total", 3),
                    ("poll_forbidden_total", 7),
                ],
                Verdict::Problem,
                "the Kubernetes API was read 100 s ago; failed since Envoy started: 7 forbidden, 3 timeout; 60 s are \
                 allowed => the role does not allow a list; see the rbac check, and the proxy's log for its name",
            ),
            (
                &[(READ, 0), ("poll_unauthorized_total", 4)],
                Verdict::Problem,
                "the Kubernetes API was never read in full; failed since Envoy started: 4 unauthorized => the API server \
                 rejects the token; see the token check, and check its audience",
            ),
        ] {
            assert_eq!(check("poll", changes), (verdict, words.to_owned()));
        }
    }

    #[test]
    fn invalid_and_unobserved_objects_are_counted() {
        let found = "4 objects read; Services with replicas: 1";
        assert_eq!(check("objects", &[]), (Verdict::Ok, found.to_owned()));
        let odd = format!("{found}; 2 HPAs that no controller has processed => `burstctl preview` names them");
        assert_eq!(
            check("objects", &[("burst_unobserved_hpas", 2)]),
            (Verdict::Problem, odd)
        );
    }

    #[test]
    fn missing_headers_are_a_problem_if_no_response_has_one() {
        let table = "docs/stats.md explains the reasons";
        for (changes, verdict, words) in [
            (&[][..], Verdict::Ok, "0 responses with the header".to_owned()),
            (
                &[("absent_no_entry_total", 5)],
                Verdict::Ok,
                "0 responses with the header, without: 5 no_entry".to_owned(),
            ),
            (
                &[("absent_unmapped_total", 5), ("absent_other_domain_total", 9)],
                Verdict::Problem,
                format!("0 responses with the header, without: 9 other_domain, 5 unmapped => {table}"),
            ),
            (
                &[("absent_unmapped_total", 5), ("header_added_total", 1)],
                Verdict::Ok,
                "1 responses with the header, without: 5 unmapped".to_owned(),
            ),
        ] {
            assert_eq!(check("headers", changes), (verdict, words));
        }
    }

    #[test]
    fn a_filter_of_another_release_is_reported() {
        let own = env!("CARGO_PKG_VERSION");
        assert_eq!(check("version", &[]).1, format!("filter {own}, the same as burstctl"));
        let (verdict, words) = check("version", &[("filter_version", 2_003_004)]);
        assert_eq!(verdict, Verdict::Problem);
        assert!(
            words.starts_with(&format!("filter 2.3.4, and burstctl is {own} => ")),
            "{words}"
        );
        assert_eq!(check("version", &[("filter_version", 0)]).0, Verdict::Problem);
        assert_eq!(check("filter", &[("v8.active", 0)]).0, Verdict::Problem);
    }

    #[test]
    fn envoys_version_is_compared_with_the_oldest_supported_one() {
        for (version, verdict) in [
            ("1.36.2", Verdict::Ok),
            ("1.40.0-dev", Verdict::Ok),
            ("2.0.0", Verdict::Ok),
            ("1.35.9", Verdict::Problem),
            ("", Verdict::Unknown),
        ] {
            assert_eq!(check_envoy_version("", version).verdict, verdict, "{version}");
        }
    }
}
