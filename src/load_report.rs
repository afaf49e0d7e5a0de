//! Puts the load report on the current response, or counts what it would do.

use crate::host;
use crate::vm;
use burst_model::config::OrcaConfig;
use burst_model::serve::orca::{
    self, HEADER, HEADER_BIN, OrcaChange, OrcaOutcome, OrcaReport, OrcaRequest, SentReport,
};

/// `report` is that of the filter on the Service, if there is one.
pub(crate) fn apply(config: OrcaConfig, request: OrcaRequest, report: Option<&OrcaReport>) {
    let (change, outcome) = orca::decide(config, request, report, sent_by_upstream);
    let stats = vm::stats();
    let counter = match outcome {
        OrcaOutcome::NotAsked => None,
        OrcaOutcome::Absent => Some(&stats.orca_absent),
        OrcaOutcome::UpstreamKept => Some(&stats.orca_upstream_kept),
        OrcaOutcome::Added | OrcaOutcome::ReplacedInvalid if config.dry_run => Some(&stats.orca_dry_run),
        OrcaOutcome::Added => Some(&stats.orca_added),
        OrcaOutcome::ReplacedInvalid => Some(&stats.orca_upstream_invalid),
    };
    if let Some(counter) = counter {
        counter.count();
    }
    let value = match &change {
        OrcaChange::Leave => return,
        _ if config.dry_run => return,
        OrcaChange::Remove => None,
        OrcaChange::Write(value) => Some(value.as_ref()),
    };
    host::set_response_header(HEADER_BIN, None);
    host::set_response_header(HEADER, value);
}

fn sent_by_upstream() -> SentReport {
    if host::has_response_header(HEADER_BIN) {
        return SentReport::Binary;
    }
    host::response_header(HEADER).map_or(SentReport::Nothing, SentReport::Header)
}
