//! Compares two runs of a trace.

use crate::trace::{Answer, Trace};

/// Describes the first tick at which the answers differ.
pub(crate) fn difference(trace: &Trace, ours: &[Answer], theirs: &[Answer]) -> Option<String> {
    assert_eq!(theirs.len(), trace.ticks.len(), "one answer a tick");
    let parted = ours
        .iter()
        .zip(theirs)
        .position(|(ours, theirs)| settled(ours) != settled(theirs))?;
    let spec = trace.ticks[..=parted]
        .iter()
        .rev()
        .find_map(|tick| tick.spec.as_ref())
        .unwrap_or(&trace.hpa.spec);
    Some(format!(
        "\nBURST_SEED={} tick {parted}\n  spec:       {}\n  options:    {}\n  tick:       {}\n  before:     {}\n  simulator:  {}\n  controller: {}\n",
        trace.seed,
        json(spec),
        json(&trace.options),
        json(&trace.ticks[parted]),
        json(&parted.checked_sub(1).map(|before| &ours[before])),
        json(&ours[parted]),
        json(&theirs[parted]),
    ))
}

fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap()
}

/// Without the parts of messages that differ between runs of the controller: it names any one of several pods, lists
/// autoscalers in any order, and quotes the selector parser.
fn settled(answer: &Answer) -> Answer {
    let mut answer = answer.clone();
    for condition in &mut answer.conditions {
        for end in [
            " of Pod ",
            " in Pod ",
            " internal selector object: ",
            " controlled by multiple HPAs: ",
        ] {
            if let Some(at) = condition.message.find(end) {
                condition.message.truncate(at + end.len());
            }
        }
    }
    answer
}
