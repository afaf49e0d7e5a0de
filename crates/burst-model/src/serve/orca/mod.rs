//! Load reports on responses in the form of ORCA (Open Request Cost Aggregation), which load balancers read: Envoy, gRPC and
//! those of clouds. <https://github.com/cncf/xds/blob/main/xds/data/orca/v3/orca_load_report.proto>
//!
//! This module decides what happens to the headers of a response. The shell reads and writes them.

mod merge;
mod report;

pub use report::OrcaReport;

use crate::config::{OrcaConfig, OrcaFormat, OrcaUpstream, OrcaWhen};
use merge::{Merged, merge};
use std::borrow::Cow;

/// The response header with the report.
pub const HEADER: &str = "endpoint-load-metrics";

/// The response header with a report as a protobuf message in base64. Readers prefer it to [`HEADER`]. The filter never writes
/// it.
pub const HEADER_BIN: &str = "endpoint-load-metrics-bin";

/// The request header that asks for a report, in the format that it names.
pub const REQUEST_HEADER: &str = "endpoint-load-metrics-format";

/// Whether a request asks for a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrcaRequest {
    /// It has no header that does.
    #[default]
    NotAsked,
    /// It does. `None` stands for the configured format: a report names its format, so it helps a client that asked for another
    /// one, such as `bin`, more than no report.
    Asked(Option<OrcaFormat>),
}

impl OrcaRequest {
    /// Reads the value of [`REQUEST_HEADER`].
    #[must_use]
    pub fn of(value: Option<&[u8]>) -> Self {
        let Some(value) = value else { return Self::NotAsked };
        let formats = [("text", OrcaFormat::Text), ("json", OrcaFormat::Json)];
        let known = formats
            .into_iter()
            .find(|(name, _)| value.eq_ignore_ascii_case(name.as_bytes()));
        Self::Asked(known.map(|(_, format)| format))
    }
}

/// The report that the upstream sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SentReport {
    /// None.
    Nothing,
    /// The value of [`HEADER`].
    Header(Vec<u8>),
    /// It has [`HEADER_BIN`].
    Binary,
}

/// What happens to the headers of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrcaChange<'a> {
    /// They stay.
    Leave,
    /// [`HEADER`] and [`HEADER_BIN`] are removed.
    Remove,
    /// The same, and [`HEADER`] then gets this value.
    Write(Cow<'a, str>),
}

/// Why, for the stats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrcaOutcome {
    /// The request does not ask for a report.
    NotAsked,
    /// There are no fresh numbers, or there are no replicas.
    Absent,
    /// The response gets a report of the filter, or one with its metrics.
    Added,
    /// The same, in place of one of the upstream that no reader could use.
    ReplacedInvalid,
    /// The response keeps the report of the upstream as it is.
    UpstreamKept,
}

/// Decides what happens to the headers of a response. `report` is that of the filter, and `sent` reads that of the upstream.
pub fn decide<'a>(
    config: OrcaConfig,
    request: OrcaRequest,
    report: Option<&'a OrcaReport>,
    sent: impl FnOnce() -> SentReport,
) -> (OrcaChange<'a>, OrcaOutcome) {
    let without = match config.upstream {
        OrcaUpstream::Replace => OrcaChange::Remove,
        OrcaUpstream::Keep | OrcaUpstream::Merge => OrcaChange::Leave,
    };
    let format = match (config.when, request) {
        (OrcaWhen::Request, OrcaRequest::NotAsked) => return (without, OrcaOutcome::NotAsked),
        (OrcaWhen::Always, OrcaRequest::NotAsked) | (_, OrcaRequest::Asked(None)) => config.format,
        (_, OrcaRequest::Asked(Some(format))) => format,
    };
    let Some(report) = report else {
        return (without, OrcaOutcome::Absent);
    };
    let own = || OrcaChange::Write(report.render(format).into());
    let sent = match config.upstream {
        OrcaUpstream::Replace => SentReport::Nothing,
        OrcaUpstream::Keep | OrcaUpstream::Merge => sent(),
    };
    match (sent, config.upstream) {
        (SentReport::Nothing, _) => (own(), OrcaOutcome::Added),
        (SentReport::Header(value), OrcaUpstream::Merge) => match merge(&value, report) {
            Merged::Report(merged) => (OrcaChange::Write(merged.into()), OrcaOutcome::Added),
            Merged::NotRead => (OrcaChange::Leave, OrcaOutcome::UpstreamKept),
            Merged::Invalid => (own(), OrcaOutcome::ReplacedInvalid),
        },
        _ => (OrcaChange::Leave, OrcaOutcome::UpstreamKept),
    }
}

#[cfg(test)]
mod tests;
