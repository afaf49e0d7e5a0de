//! The simulator against the real controller: freshly made traces where Go is at hand, recorded ones anywhere.

mod arbitrary;
mod difference;
mod generate;
mod golden;
mod load;
mod metrics_api;
mod oracle;
mod pods;
mod random;
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
fn made_up_traces_end_here_as_in_the_controller() {
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
fn recorded_traces_end_here_as_they_did_in_the_controller() {
    let cases = golden::read();
    assert!(cases.len() >= 200, "{} traces", cases.len());
    let differ = |case: &golden::Case| difference::difference(&case.trace, &replay::replay(&case.trace), &case.answers);
    assert_none(&cases.iter().filter_map(differ).collect::<Vec<_>>(), cases.len());
}

#[test]
fn every_reason_and_every_failure_was_recorded_five_times() {
    let cases = golden::read();
    for event in golden::EVENTS {
        let times = cases
            .iter()
            .filter(|case| golden::events(case).contains(&event))
            .count();
        assert!(times >= 5, "{event}: in {times} traces");
    }
}
