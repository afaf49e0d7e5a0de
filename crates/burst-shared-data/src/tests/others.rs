//! Leaders with other settings find each other.

use super::*;
use crate::{OtherLeaders, OtherLeadersReport};

fn tick(others: &mut OtherLeaders<Memory>, config: &Config, seconds: std::ops::Range<u64>) -> Vec<OtherLeadersReport> {
    seconds.filter_map(|second| others.tick(config, at(second))).collect()
}

#[test]
fn two_leaders_count_each_other_and_one_of_them_says_after_a_minute_what_differs() {
    let configs = [r#"{"cluster":"k"}"#, r#"{"cluster":"k","namespaces":["shop"]}"#].map(config);
    let mut others: [OtherLeaders<Memory>; 2] = Default::default();
    let mut reports = Vec::new();
    for second in 0..200 {
        for (others, config) in others.iter_mut().zip(&configs) {
            reports.extend(others.tick(config, at(second)).map(|report| (second, report)));
        }
    }
    assert!(
        reports.iter().skip(1).all(|(_, report)| report.count == 1),
        "{reports:?}"
    );
    let warnings: Vec<_> = reports
        .into_iter()
        .flat_map(|(second, report)| report.warnings.into_iter().map(move |line| (second, line)))
        .collect();
    let [(second, warning)] = &warnings[..] else {
        panic!("{warnings:?}")
    };
    assert!((60..=80).contains(second), "{second}");
    assert_eq!(
        warning,
        "two threads of this proxy read the cluster, because two configurations of the filter differ in namespaces; write \
         the same in both, and one thread reads for both"
    );
}

#[test]
fn a_leader_that_drains_is_not_counted_for_long() {
    let (old, new) = (
        config(r#"{"cluster":"k","target_percent":70}"#),
        config(r#"{"cluster":"k"}"#),
    );
    let mut draining = OtherLeaders::default();
    tick(&mut draining, &old, 0..45);
    let reports = tick(&mut OtherLeaders::default(), &new, 45..200);
    assert_eq!(reports[0].count, 1);
    assert_eq!(reports.last().unwrap().count, 0);
    assert!(reports.iter().all(|report| report.warnings.is_empty()), "{reports:?}");
}

#[test]
fn configurations_that_differ_in_what_the_header_only_module_cannot_have_are_one() {
    let full = config(r#"{"cluster":"k","metrics_apis":{"filter_chain":"m"},"requests":{}}"#);
    let header_only = Config::parse(br#"{"cluster":"k"}"#, Artifact::HeaderOnly).unwrap();
    tick(&mut OtherLeaders::default(), &full, 0..20);
    let reports = tick(&mut OtherLeaders::default(), &header_only, 20..40);
    assert!(reports.iter().all(|report| report.count == 0), "{reports:?}");
}
