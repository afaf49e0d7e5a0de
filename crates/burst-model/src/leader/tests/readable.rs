//! Lists that cannot be read, beside others that can.

use super::*;

/// An API that refuses the lists of a resource, `plural` or `plural in namespace NAMESPACE`.
fn refusing(resource: &'static str, current: u32) -> impl Fn(&Source) -> Result<Page, Failure> {
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
    rows.map(|row| row.of.to_owned()).collect()
}

#[test]
fn what_can_be_read_is_served_and_the_rest_is_named() {
    let mut leader = Leader::new(config(""), Estate::default(), T0);
    let first = round(&mut leader, T0, refusing("statefulsets", 1));
    assert_eq!(names(&first.published[0], "services"), ["shop/web"]);
    assert_eq!(first.confirmed[0].lists, [Some(T0), Some(T0), Some(T0), None]);
    let shown = |name: &str, readable| (name.to_owned(), readable);
    assert!(first.readable.contains(&shown("services", Readable::Yes)));
    assert!(first.readable.contains(&shown("statefulsets.apps", Readable::No)));
    let quiet = round(&mut leader, later(15), refusing("statefulsets", 1));
    assert!(quiet.readable.is_empty() && quiet.lines.is_empty());
    assert_eq!(quiet.confirmed[0].oldest(), Some(later(15)), "it has no age");
    let allowed = round(&mut leader, later(60), |source| cluster(source, 1));
    assert_eq!(allowed.readable, [shown("statefulsets.apps", Readable::Yes)]);
    assert_eq!(allowed.confirmed[0].lists, [Some(later(60)); 4]);
}

#[test]
fn a_role_in_one_of_two_namespaces_serves_that_one() {
    let mut leader = Leader::new(config(r#","namespaces":["shop","data"]"#), Estate::default(), T0);
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
fn a_list_that_is_refused_counts_until_it_is_too_old_and_is_left_out_then() {
    let mut leader = Leader::new(config(""), Estate::default(), T0);
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
fn where_everything_is_refused_the_picture_ages_as_a_whole() {
    let mut leader = Leader::new(config(""), Estate::default(), T0);
    round(&mut leader, T0, |source| cluster(source, 1));
    for seconds in (15..300).step_by(15) {
        let refused = round(&mut leader, later(seconds), |_| Err(Failure::Forbidden("no".into())));
        assert!(
            refused.published.is_empty() && refused.confirmed.is_empty(),
            "{seconds} s"
        );
    }
    let nothing = round(&mut Leader::new(config(""), Estate::default(), T0), T0, |_| {
        Err(Failure::Forbidden("no".into()))
    });
    assert!(
        nothing.published.is_empty() && nothing.confirmed.is_empty(),
        "from the start"
    );
}

#[test]
fn a_failing_list_keeps_its_objects_and_its_age() {
    let mut leader = Leader::new(config(""), Estate::default(), T0);
    round(&mut leader, T0, |source| cluster(source, 1));
    let failing = |source: &Source| match source.reads {
        Reads::Hpas => Err(Failure::Timeout),
        _ => cluster(source, 2),
    };
    let failed = round(&mut leader, later(15), failing);
    assert!(failed.published.is_empty());
    assert_eq!(failed.confirmed.first().and_then(Confirmed::oldest), Some(T0));
}
