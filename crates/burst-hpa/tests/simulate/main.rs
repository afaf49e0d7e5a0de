//! The simulator against the real controller: with new random traces, and with recorded ones.

mod arbitrary;
mod difference;
mod generate;
mod golden;
mod load;
mod metrics_api;
mod oracle;
mod pods;
mod random;
mod record;
mod replay;
mod specs;
mod templates;
mod trace;

use trace::Trace;

const TRACES: u64 = 1_000;

fn assert_none(differing: &[String], count: usize) {
    let shown: String = differing.iter().take(3).map(String::as_str).collect();
    assert!(
        differing.is_empty(),
        "{} of {count} traces differ\n{shown}",
        differing.len()
    );
}

#[test]
fn random_traces_give_the_answers_of_the_controller() {
    let first = burst_testkit::seed();
    let traces: Vec<Trace> = (first..first + TRACES).map(generate::trace).collect();
    let theirs = oracle::answers(&traces);
    let pairs = traces.iter().zip(&theirs);
    let differing: Vec<_> = pairs
        .filter_map(|(trace, theirs)| difference::difference(trace, &replay::replay(trace), theirs))
        .collect();
    assert_none(&differing, traces.len());
}

#[test]
fn recorded_traces_give_the_answers_of_the_controller() {
    let cases = record::traces();
    assert!(cases.len() >= 200, "{} traces", cases.len());
    let differ = |case: &golden::Case| difference::difference(&case.trace, &replay::replay(&case.trace), &case.answers);
    assert_none(&cases.iter().filter_map(differ).collect::<Vec<_>>(), cases.len());
}

#[test]
fn recorded_traces_contain_every_reason_and_failure_five_times() {
    let cases = record::traces();
    for event in golden::EVENTS {
        let times = cases
            .iter()
            .filter(|case| golden::events(case).contains(&event))
            .count();
        assert!(times >= 5, "{event}: in {times} traces");
    }
}
