//! Some lists cannot be read while others can.

use super::*;

/// An API server that refuses the lists of a resource: `plural`, `plural in namespace NAMESPACE` or `in namespace
/// NAMESPACE`.
fn refusing(resource: &'static str, current: u32) -> impl Fn(&Source) -> Result<ListPage, Failure> {
    move |source| {
        let name = source.to_string().replace(".apps", "").replace(".autoscaling", "");
        match name == resource || name.ends_with(resource) && resource.starts_with("in ") {
            true => Err(Failure::Forbidden("no".into())),
            false => cluster(source, current),
        }
    }
}

fn names(snapshot: &Snapshot, section: &str) -> Vec<String> {
    let rows = snapshot.section(section).into_iter().flat_map(Section::rows);
    rows.map(|row| row.name.to_owned()).collect()
}

#[test]
fn readable_lists_are_served_and_the_others_are_reported() {
    let mut leader = Leader::new(config(""), Handover::default(), T0);
    let first = round(&mut leader, T0, refusing("statefulsets", 1));
    assert_eq!(names(&first.published[0], "services"), ["shop/web"]);
    assert_eq!(first.confirmed[0].lists, [Some(T0), Some(T0), Some(T0), None]);
    let gauge = |name: &str, readable| (name.to_owned(), readable);
    assert!(first.readable.contains(&gauge("services", Readable::Yes)));
    assert!(first.readable.contains(&gauge("statefulsets.apps", Readable::No)));
    let quiet = round(&mut leader, later(15), refusing("statefulsets", 1));
    assert!(quiet.readable.is_empty() && quiet.messages.is_empty());
    assert_eq!(
        quiet.confirmed[0].oldest(),
        Some(later(15)),
        "the excluded list does not count for the age"
    );
    let allowed = round(&mut leader, later(60), |source| cluster(source, 1));
    assert_eq!(allowed.readable, [gauge("statefulsets.apps", Readable::Yes)]);
    assert_eq!(allowed.confirmed[0].lists, [Some(later(60)); 4]);
}

#[test]
fn with_a_role_in_one_of_two_namespaces_that_namespace_is_served() {
    let mut leader = Leader::new(config(r#","namespaces":["shop","data"]"#), Handover::default(), T0);
    let first = round(&mut leader, T0, refusing("in namespace data", 1));
    assert_eq!(names(&first.published[0], "services"), ["shop/web"]);
    assert_eq!(
        first
            .readable
            .iter()
            .filter(|(_, readable)| *readable == Readable::No)
            .count(),
        4
    );
    assert_eq!(first.confirmed[0].oldest(), Some(T0));
}

#[test]
fn a_refused_list_is_served_until_it_is_too_old_and_then_excluded() {
    let mut leader = Leader::new(config(""), Handover::default(), T0);
    round(&mut leader, T0, |source| cluster(source, 1));
    for (seconds, served, oldest) in [(15, 1, 0), (45, 1, 0), (57, 1, 0), (58, 0, 45), (75, 0, 75)] {
        let round = round(&mut leader, later(seconds), refusing("deployments", 1));
        let left = round
            .published
            .last()
            .map_or(1, |snapshot| names(snapshot, "services").len());
        assert!(left == served || seconds == 75, "{seconds} s: {left}");
        assert!(
            round
                .confirmed
                .iter()
                .all(|confirmed| confirmed.oldest() == Some(later(oldest))),
            "{seconds} s"
        );
    }
    let back = round(&mut leader, later(120), |source| cluster(source, 2));
    assert_eq!(names(&back.published[0], "services"), ["shop/web"]);
}

#[test]
fn if_every_list_is_refused_the_snapshot_becomes_stale() {
    let mut leader = Leader::new(config(""), Handover::default(), T0);
    round(&mut leader, T0, |source| cluster(source, 1));
    for seconds in (15..300).step_by(15) {
        let refused = round(&mut leader, later(seconds), |_| Err(Failure::Forbidden("no".into())));
        assert!(
            refused.published.is_empty() && refused.confirmed.is_empty(),
            "{seconds} s"
        );
    }
    let nothing = round(&mut Leader::new(config(""), Handover::default(), T0), T0, |_| {
        Err(Failure::Forbidden("no".into()))
    });
    assert!(
        nothing.published.is_empty() && nothing.confirmed.is_empty(),
        "from the start"
    );
}

#[test]
fn a_failing_list_keeps_its_objects_and_its_age() {
    let mut leader = Leader::new(config(""), Handover::default(), T0);
    round(&mut leader, T0, |source| cluster(source, 1));
    let failing = |source: &Source| match source.kind {
        ObjectKind::Hpas => Err(Failure::Timeout),
        _ => cluster(source, 2),
    };
    let failed = round(&mut leader, later(15), failing);
    assert!(failed.published.is_empty());
    assert_eq!(failed.confirmed.first().and_then(Confirmed::oldest), Some(T0));
}

/// An API server that fails to list a resource, which is named as in [`refusing`].
fn broken(resource: &'static str, current: u32) -> impl Fn(&Source) -> Result<ListPage, Failure> {
    let refuses = refusing(resource, current);
    move |source| refuses(source).map_err(|_| conversion())
}

/// The failure of a kind whose conversion webhook is missing.
fn conversion() -> Failure {
    Failure::Server {
        status: 500,
        message: "conversion webhook failed".into(),
        retry_after: None,
    }
}

#[test]
fn a_list_that_fails_alone_for_too_long_is_excluded_until_its_next_success() {
    let mut leader = Leader::new(config(""), Handover::default(), T0);
    round(&mut leader, T0, |source| cluster(source, 1));
    let fails = |leader: &mut Leader, seconds| round(leader, later(seconds), broken("deployments", 1));
    for seconds in [15, 30, 45, 60, 72] {
        let early = fails(&mut leader, seconds);
        assert!(early.published.is_empty(), "{seconds} s");
        assert!(early.confirmed.iter().all(|confirmed| confirmed.oldest() == Some(T0)));
    }
    let mut left = fails(&mut leader, 73);
    assert_eq!(names(&left.published[0], "services"), [""; 0]);
    assert_eq!(left.readable, [("deployments.apps".to_owned(), Readable::No)]);
    assert_eq!(
        left.messages,
        [
            "cannot list deployments.apps, while other lists work; excluding it from the snapshot until it can be listed again"
        ]
    );
    let [at] = left.confirmed.as_slice() else { panic!() };
    assert!(at.lists[2].is_none() && at.oldest() == Some(later(60)), "{at:?}");
    let handover = Handover {
        snapshot: left.published.pop(),
        confirmed: left.confirmed.pop(),
        failures: left.failures,
        ..Handover::default()
    };
    let mut next = Leader::new(config(""), handover, later(76));
    let quiet = fails(&mut next, 76);
    assert_eq!(
        quiet.confirmed[0].oldest(),
        Some(later(76)),
        "a successor does not wait for the excluded list"
    );
    assert!(quiet.messages.is_empty(), "{:?}", quiet.messages);
    let back = round(&mut leader, later(120), |source| cluster(source, 2));
    assert_eq!(names(&back.published[0], "services"), ["shop/web"]);
    assert_eq!(back.messages, ["listing deployments.apps works again"]);
    assert_eq!(back.readable, [("deployments.apps".to_owned(), Readable::Yes)]);
}

#[test]
fn a_list_that_fails_alone_from_the_start_blocks_the_others_only_for_a_time() {
    let mut leader = Leader::new(config(ROLLOUTS), Handover::default(), T0);
    let config = config(ROLLOUTS);
    let rollouts = config.content.sources.last().unwrap().to_string();
    let broken = |source: &Source| match source.to_string() == rollouts {
        true => Err(conversion()),
        false => cluster(source, 1),
    };
    for seconds in [0, 15, 30, 45, 60, 72] {
        assert!(
            round(&mut leader, later(seconds), broken).published.is_empty(),
            "{seconds} s"
        );
    }
    assert_eq!(round(&mut leader, later(73), broken).published.len(), 1);
}

#[test]
fn a_namespace_that_fails_alone_is_excluded_with_its_hpas() {
    let namespaces = r#","namespaces":["shop","data"]"#;
    let mut leader = Leader::new(config(namespaces), Handover::default(), T0);
    round(&mut leader, T0, |source| cluster(source, 1));
    let rounds = (15..=75).step_by(15);
    let rounds = rounds.map(|seconds| round(&mut leader, later(seconds), broken("in namespace data", 2)));
    let last = rounds.last().unwrap();
    assert_eq!(
        last.readable
            .iter()
            .filter(|(_, readable)| *readable == Readable::No)
            .count(),
        4
    );
    assert_eq!(last.confirmed.last().unwrap().oldest(), Some(later(75)));
}

#[test]
fn without_hpas_or_services_there_is_nothing_to_serve() {
    for core in ["horizontalpodautoscalers", "services"] {
        let mut leader = Leader::new(config(""), Handover::default(), T0);
        round(&mut leader, T0, |source| cluster(source, 1));
        for seconds in (15..300).step_by(15) {
            let failed = round(&mut leader, later(seconds), broken(core, 1));
            assert!(failed.published.is_empty(), "{core}, {seconds} s");
            assert!(failed.confirmed.iter().all(|confirmed| confirmed.oldest() == Some(T0)));
        }
    }
}

#[test]
fn in_an_outage_the_list_that_failed_first_is_not_excluded() {
    let mut leader = Leader::new(config(""), Handover::default(), T0);
    round(&mut leader, T0, |source| cluster(source, 1));
    for seconds in [15, 30] {
        round(&mut leader, later(seconds), broken("deployments", 1));
    }
    for seconds in (45..300).step_by(5) {
        let failed = round(&mut leader, later(seconds), |_| Err(conversion()));
        assert!(failed.published.is_empty() && failed.readable.is_empty(), "{seconds} s");
    }
}

#[test]
fn a_watched_list_that_was_excluded_is_listed_again() {
    let watched = || parse(r#"{"cluster":"k"}"#);
    let window = |source: &Source, verb| match verb {
        Verb::List => cluster(source, 1).map(Payload::Page),
        Verb::Watch => Ok(Payload::WatchBatch(WatchBatch::default())),
    };
    let broken = |source: &Source, verb| match source.resource.plural.as_str() {
        "deployments" => Err(conversion()),
        _ => window(source, verb),
    };
    let mut leader = Leader::new(watched(), Handover::default(), T0);
    round_of(&mut leader, T0, window);
    let served = |round: &Round| round.published.last().map(|snapshot| names(snapshot, "services").len());
    let left = (1..70).find(|seconds| served(&round_of(&mut leader, later(*seconds), broken)) == Some(0));
    assert!(left.is_some_and(|seconds| (58..62).contains(&seconds)), "{left:?}");
    let back = (70..140).find_map(|seconds| served(&round_of(&mut leader, later(seconds), window)));
    assert_eq!(back, Some(1), "all objects return, not only the changed ones");
}

#[test]
fn a_refusal_right_after_an_outage_counts_from_the_end_of_the_outage() {
    let mut leader = Leader::new(config(""), Handover::default(), T0);
    round(&mut leader, T0, |source| cluster(source, 1));
    for seconds in (15..120).step_by(5) {
        round(&mut leader, later(seconds), |_| Err(Failure::Timeout));
    }
    // The API server has loaded some roles but not all of them yet.
    for seconds in 160..170 {
        let refused = round(&mut leader, later(seconds), refusing("deployments", 1));
        assert!(refused.published.is_empty(), "{seconds} s");
        assert!(refused.confirmed.iter().all(|confirmed| confirmed.oldest() == Some(T0)));
    }
    let back = round(&mut leader, later(200), |source| cluster(source, 1));
    assert!(back.published.is_empty(), "nothing changed");
    assert_eq!(back.confirmed.last().unwrap().oldest(), Some(later(200)));
}

#[test]
fn a_list_that_is_refused_a_little_longer_than_the_others_is_not_excluded() {
    let mut leader = Leader::new(config(""), Handover::default(), T0);
    round(&mut leader, T0, |source| cluster(source, 1));
    for seconds in (15..300).step_by(5) {
        round(&mut leader, later(seconds), |_| Err(Failure::Forbidden("no".into())));
    }
    for seconds in 330..340 {
        let refused = round(&mut leader, later(seconds), refusing("deployments", 1));
        assert!(refused.published.is_empty(), "{seconds} s");
    }
}

#[test]
fn a_successor_counts_the_failure_of_a_list_from_its_beginning() {
    let mut leader = Leader::new(config(""), Handover::default(), T0);
    let mut left = round(&mut leader, T0, |source| cluster(source, 1));
    for seconds in [15, 30, 45] {
        let failed = round(&mut leader, later(seconds), broken("deployments", 1));
        left.confirmed.extend(failed.confirmed);
        left.failures = failed.failures.or(left.failures);
    }
    let handover = Handover {
        snapshot: left.published.pop(),
        confirmed: left.confirmed.pop(),
        checkpoint: left.checkpoint,
        failures: left.failures,
        ..Handover::default()
    };
    let mut next = Leader::new(config(""), handover, later(50));
    let early = (50..73).map(|seconds| round(&mut next, later(seconds), broken("deployments", 1)));
    assert!(early.last().unwrap().published.is_empty());
    assert_eq!(round(&mut next, later(73), broken("deployments", 1)).published.len(), 1);
}
