//! `burstctl policy`, compared with a real API server.

mod crd;
mod files;
mod hpas;
mod random;

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Output};
use std::time::Duration;

use burst_testkit::{ControlPlane, repository, wait};
use random::Generator;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

const SOON: Duration = Duration::from_secs(120);

/// The number of policy sets, and of HPAs for each set.
const SETS: usize = 8;
const HPAS: usize = 40;

fn burstctl(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_burstctl"))
        .args(args)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Writes a file with these objects.
fn file(objects: &[Value]) -> NamedTempFile {
    let file = NamedTempFile::with_suffix(".json").unwrap();
    std::fs::write(file.path(), documents(objects)).unwrap();
    file
}

fn documents(objects: &[Value]) -> String {
    objects.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
}

/// Policies in a file, and the default decision.
struct Set {
    file: NamedTempFile,
    default: &'static str,
}

impl Set {
    fn new(policies: &[Value], default: &'static str) -> Self {
        let file = file(policies);
        Self { file, default }
    }

    fn run(&self, command: &str, more: &[&str]) -> Output {
        let path = self.file.path().to_str().unwrap();
        let args = [
            "policy",
            command,
            path,
            "--root-namespace",
            random::ROOT,
            "--default",
            self.default,
        ];
        burstctl(&[&args[..], more].concat())
    }

    /// Returns why `policy test` refuses each HPA, by `namespace/name`.
    fn refused(&self, hpas: &[Value]) -> BTreeMap<String, Vec<String>> {
        let hpas = file(hpas);
        let output = self.run("test", &["--hpa", hpas.path().to_str().unwrap(), "--output", "json"]);
        let (lines, messages) = (text(&output.stdout), text(&output.stderr));
        let mut refused: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for line in lines.lines() {
            let decision: Value = serde_json::from_str(line).unwrap();
            if let Some(reason) = decision["reason"].as_str() {
                let hpa = decision["hpa"].as_str().unwrap().to_owned();
                refused
                    .entry(hpa)
                    .or_default()
                    .push(format!("{}: {reason}", decision["metric"].as_str().unwrap()));
            }
        }
        let expected = if refused.is_empty() { 0 } else { 1 };
        assert_eq!(output.status.code(), Some(expected), "{messages}");
        refused
    }

    /// Installs the admission policy and waits until it is in force. The first rule of `policy` must refuse the HPA
    /// `probe`, and no earlier set may refuse it with that rule.
    fn enforce(&self, cluster: &ControlPlane, policy: &str, probe: &Value) {
        let output = self.run("admission", &[]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        cluster.apply(&text(&output.stdout));
        wait::for_ok(SOON, "the admission policy in force", || {
            match cluster.try_kubectl(&["create", "--dry-run=server", "-f", "-"], &probe.to_string()) {
                Err(message) if message.contains(policy) && message.contains("rule 1 denies it") => Ok(()),
                other => Err(format!("{other:?}")),
            }
        });
    }
}

/// Returns the message of the API server for each HPA that it rejects, by `namespace/name`.
fn applied(cluster: &ControlPlane, hpas: &[Value]) -> BTreeMap<String, String> {
    let mut refusals = BTreeMap::new();
    for namespace in random::NAMESPACES {
        let in_namespace: Vec<_> = hpas
            .iter()
            .filter(|hpa| hpa["metadata"]["namespace"] == namespace)
            .cloned()
            .collect();
        let Err(message) = cluster.try_kubectl(&["create", "--dry-run=server", "-f", "-"], &documents(&in_namespace))
        else {
            continue;
        };
        for line in message.lines().filter(|line| line.starts_with("Error from server")) {
            let name = (line.split('"').find(|part| part.starts_with("hpa-"))).unwrap_or_else(|| panic!("{line}"));
            refusals.insert(format!("{namespace}/{name}"), line.replace("\\\"", "\""));
        }
    }
    refusals
}

#[test]
fn another_user_is_not_in_the_groups_of_the_controller() {
    let mut policy = random::policy(
        "of-accounts",
        "shop",
        &json!({"rules": [{"metric": ".*", "deny": true}]}),
    );
    policy["spec"]["subjects"] = json!([{"kind": "Group", "name": "system:serviceaccounts"}]);
    let set = Set::new(&[policy], "allow");
    let hpas = file(&[random::hpa(
        "web",
        "shop",
        &[random::external("queue_depth", &json!({}))],
    )]);
    let code = |more: &[&str]| {
        let args = [&["--hpa", hpas.path().to_str().unwrap()], more].concat();
        set.run("test", &args).status.code()
    };
    assert_eq!(code(&[]), Some(1));
    assert_eq!(code(&["--user", "alice"]), Some(0));
    assert_eq!(code(&["--user", "system:serviceaccount:shop:reader"]), Some(1));
}

#[test]
fn the_admission_policy_refuses_exactly_what_policy_test_refuses() {
    let seed = burst_testkit::seed();
    let mut chance = Generator::new(seed);
    let cluster = ControlPlane::start();
    for namespace in random::NAMESPACES {
        cluster.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}).to_string());
    }
    let mut refusals = 0;
    for round in 0..SETS {
        let metric = format!("probe_{round}");
        let probing = json!({"rules": [{"metric": metric, "deny": true}, {"metric": ".*", "selector": {}}]});
        let mut policies = vec![random::policy("a-probe", random::ROOT, &probing)];
        policies.extend(chance.policies());
        let set = Set::new(&policies, if round % 2 == 0 { "allow" } else { "deny" });
        set.enforce(
            &cluster,
            "root/a-probe",
            &random::hpa("hpa-probe", "shop", &[random::external(&metric, &json!({}))]),
        );
        let hpas: Vec<_> = (0..HPAS).map(|number| chance.hpa(number)).collect();
        let (foretold, found) = (set.refused(&hpas), applied(&cluster, &hpas));
        let names = |of: Vec<&String>| of.into_iter().cloned().collect::<BTreeSet<_>>();
        let (ours, theirs) = (names(foretold.keys().collect()), names(found.keys().collect()));
        let odd = ours.symmetric_difference(&theirs).next();
        let hpa = odd.and_then(|odd| {
            hpas.iter()
                .find(|hpa| odd.ends_with(hpa["metadata"]["name"].as_str().unwrap()))
        });
        let context = || {
            format!(
                "{:#?} {:#?}\n{policies:#?}",
                odd.map(|odd| found.get(odd)),
                hpa.map(Value::to_string)
            )
        };
        assert_eq!(
            ours,
            theirs,
            "left: here, right: the API server; BURST_SEED={seed}; {}",
            context()
        );
        for (title, reasons) in &foretold {
            let message = &found[title];
            assert!(
                reasons.iter().any(|reason| message.contains(reason)),
                "{message}\n{reasons:?}"
            );
        }
        refusals += ours.len();
    }
    let all = SETS * HPAS;
    assert!(
        refusals > all / 10 && refusals < all * 9 / 10,
        "{refusals} of {all} refused: they are too alike"
    );
}

#[test]
fn a_thousand_rules_fit_an_admission_policy() {
    let cluster = ControlPlane::start();
    let rule = |number: usize| match number {
        0 => json!({"metric": "probe", "deny": true}),
        999 => json!({"metric": "queue_.*", "selector": {"matchLabels": {"team": "web"}}}),
        _ => json!({"metric": format!("metric_{number}_(depth|age|[a-f]{{2}}\\d+)"), "deny": true}),
    };
    let spec = json!({"rules": (0..1000).map(rule).collect::<Vec<_>>()});
    let set = Set::new(&[random::policy("many", random::ROOT, &spec)], "deny");
    set.enforce(
        &cluster,
        "many",
        &random::hpa("hpa-probe", "default", &[random::external("probe", &json!({}))]),
    );
    let ten = |metric: &str, team: &str| {
        let external = random::external(metric, &json!({"matchLabels": {"team": team}}));
        random::hpa("hpa-ten", "default", &vec![external; 10])
    };
    let create = |hpa: &Value| cluster.try_kubectl(&["create", "--dry-run=server", "-f", "-"], &hpa.to_string());
    for (hpa, refusal) in [
        (ten("queue_depth", "web"), None),
        (
            ten("queue_depth", "api"),
            Some("rule 1000 requires a selector that is at least as narrow as"),
        ),
        (ten("metric_998_ab12", "web"), Some("rule 999 denies it")),
        (
            ten("metric_1000_ab12", "web"),
            Some("has no rule for it, and the default is deny"),
        ),
    ] {
        let ours: Vec<_> = set
            .refused(std::slice::from_ref(&hpa))
            .into_values()
            .flatten()
            .collect();
        let theirs = create(&hpa).err();
        assert_eq!(ours.is_empty(), refusal.is_none(), "{ours:?}");
        match refusal {
            None => assert_eq!(theirs, None),
            Some(args) => {
                let theirs = theirs.unwrap();
                assert!(theirs.contains(args) && ours[0].contains(args), "{theirs}\n{ours:?}");
            }
        }
    }
}
