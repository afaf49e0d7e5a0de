//! The hub's door: reports of other proxies come as requests on a filter chain of their own.

use super::reports::ReportStore;
use crate::host;
use crate::stats::Stats;
use burst_model::config::Config;
use burst_model::hash;
use burst_model::records::RequestCountKeys;
use burst_model::request_rates::report::{self, InvalidReport};
use burst_model::request_rates::report_index::ReportsFull;
use burst_model::serve::{LocalReply, burst};

/// Takes the current request if it came by the filter chain of the reports; the answer then. Whoever gets a
/// certificate for that listener may lower or raise what autoscalers see, so without mutual TLS nothing is taken.
pub(crate) fn take(config: &Config, stats: &Stats) -> Option<LocalReply> {
    let requests = config.requests.as_deref()?;
    let accept = requests.accept.as_ref()?;
    let chain = host::property(&["xds", "filter_chain_name"])?;
    if chain != accept.as_bytes() {
        return None;
    }
    let [method, path] = [":method", ":path"].map(|name| host::request_header(name).unwrap_or_default());
    // Who reports may read as well: one cluster of Envoy leads to the hub for both.
    if config
        .endpoints
        .as_ref()
        .is_some_and(|endpoints| burst::is_own(endpoints, &path))
    {
        return None;
    }
    if path != report::PATH.as_bytes() {
        return Some(text(404, "only reports are taken here\n"));
    }
    if method != b"POST" {
        return Some(text(405, "a report is a POST\n"));
    }
    let taken = if host::is_mutual_tls() {
        keep(config, stats)
    } else {
        Err(text(403, "a report must come over mutual TLS\n"))
    };
    match &taken {
        Ok(()) => stats.hub_reports_taken.count(),
        Err(_) => stats.hub_reports_refused.count(),
    }
    Some(taken.err().unwrap_or_else(|| text(204, "")))
}

fn keep(config: &Config, stats: &Stats) -> Result<(), LocalReply> {
    let Some(requests) = &config.requests else {
        return Ok(());
    };
    let report = host::request_header(report::HEADER).unwrap_or_default();
    let refused = |error: InvalidReport| text(400, format!("{error}\n"));
    let now = host::now();
    let share = report::parse(&report, requests.window, requests.report_patience(), now).map_err(refused)?;
    let reports = ReportStore::new(RequestCountKeys::new(config.counting_hash()));
    let kept = reports.put(reporter(), &share, stats, now);
    kept.map_err(|no_room: ReportsFull| text(507, format!("{no_room}\n")))
}

/// What the client's certificate says of it, hashed: what room there is for reports is shared by that. It stays the same
/// when the certificate is renewed.
fn reporter() -> u64 {
    let names = ["uri_san", "dns_san", "subject"].map(|name| format!("{name}_peer_certificate"));
    let said = names
        .iter()
        .map(|name| host::property(&["connection", name]).unwrap_or_default());
    hash::of(&said.collect::<Vec<_>>())
}

fn text(status: u16, body: impl Into<String>) -> LocalReply {
    LocalReply {
        status,
        headers: vec![("content-type", "text/plain; charset=utf-8".into())],
        body: body.into().into_bytes().into(),
    }
}
