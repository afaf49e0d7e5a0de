//! Recorded traces with the answers of the real controller.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use flate2::read::GzDecoder;
use serde::{Deserialize, Serialize};

use crate::trace::{Answer, Trace};

/// One line of the file.
#[derive(Serialize, Deserialize)]
pub(crate) struct Case {
    pub trace: Trace,
    pub answers: Vec<Answer>,
}

/// Events that several traces must contain: every reason of every condition, and every failure of a metric.
pub(crate) const EVENTS: [&str; 36] = [
    "SucceededGetScale",
    "FailedGetScale",
    "ReadyForNewScale",
    "ScaleDownStabilized",
    "ScaleUpStabilized",
    "SucceededRescale",
    "FailedUpdateScale",
    "ValidMetricFound",
    "ScalingDisabled",
    "InvalidSelector",
    "AmbiguousSelector",
    "FailedGetResourceMetric",
    "FailedGetContainerResourceMetric",
    "FailedGetPodsMetric",
    "FailedGetObjectMetric",
    "FailedGetExternalMetric",
    "DesiredWithinRange",
    "TooManyReplicas",
    "TooFewReplicas",
    "ScaleUpLimit",
    "ScaleDownLimit",
    "ScaledToZero",
    "NotScaledToZero",
    "unable to get metrics for resource",
    "unable to get metric requests",
    "unable to get metric hits",
    "unable to get external metric",
    "no pods returned by selector",
    "unable to calculate ready pods",
    "did not receive metrics",
    "no metrics returned matched",
    "missing request for",
    "missing pod-level request",
    "not found in Pod",
    "invalid object metric source",
    "is not a valid label selector operator",
];

/// The [`EVENTS`] of a trace.
pub(crate) fn events(case: &Case) -> Vec<&'static str> {
    let conditions = || case.answers.iter().flat_map(|answer| &answer.conditions);
    let happens =
        |event: &&str| conditions().any(|condition| condition.reason == *event || condition.message.contains(event));
    EVENTS.into_iter().filter(happens).collect()
}

pub(crate) fn path() -> PathBuf {
    PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/oracle/golden/traces.jsonl.gz"
    ))
}

pub(crate) fn read() -> Vec<Case> {
    let file = File::open(path()).unwrap_or_else(|error| panic!("{}: {error}", path().display()));
    let lines = BufReader::new(GzDecoder::new(file)).lines();
    lines
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect()
}
