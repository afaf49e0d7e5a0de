//! Takes the reports of other proxies, which come as requests on a filter chain of their own.

use crate::host;
use crate::shared_data::ReportStore;
use crate::stats::Stats;
use burst_model::config::Config;
use burst_model::hash;
use burst_model::records::RequestCountKeys;
use burst_model::request_rates::report::{self, InvalidReport};
use burst_model::request_rates::report_index::ReportsFull;
use burst_model::serve::{LocalReply, burst};

/// Answers the current request if it came by the filter chain of the reports, and is none for `/burstmetrics`. A report
/// changes what autoscalers see, so one without mutual TLS is refused.
pub(crate) fn answer_report(config: &Config, stats: &Stats) -> Option<LocalReply> {
    let requests = config.requests.as_deref()?;
    let accept = requests.accept.as_ref()?;
    let chain = host::property(&["xds", "filter_chain_name"])?;
    if chain != accept.as_bytes() {
        return None;
    }
    let [method, path] = [":method", ":path"].map(|name| host::request_header(name).unwrap_or_default());
    // A proxy reports and reads by one Envoy cluster, so `/burstmetrics` is served on this filter chain too.
    if config
        .endpoints
        .as_ref()
        .is_some_and(|endpoints| burst::is_own(endpoints, &path))
    {
        return None;
    }
    if path != report::PATH.as_bytes() {
        return Some(text(404, "only reports are accepted here\n"));
    }
    if method != b"POST" {
        return Some(text(405, "a report is a POST\n"));
    }
    let stored = if host::is_mutual_tls() {
        store(config, stats)
    } else {
        Err(text(403, "a report must come over mutual TLS\n"))
    };
    match &stored {
        Ok(()) => stats.hub_reports_taken.count(),
        Err(_) => stats.hub_reports_refused.count(),
    }
    Some(stored.err().unwrap_or_else(|| text(204, "")))
}

fn store(config: &Config, stats: &Stats) -> Result<(), LocalReply> {
    let Some(requests) = &config.requests else {
        return Ok(());
    };
    let report = host::request_header(report::HEADER).unwrap_or_default();
    let refused = |error: InvalidReport| text(400, format!("{error}\n"));
    let now = host::now();
    let tally = report::parse(&report, requests.window, requests.proxy_report_max_age(), now).map_err(refused)?;
    let reports = ReportStore::new(RequestCountKeys::new(config.counting_hash()));
    let no_room = |full: ReportsFull| text(507, format!("{full}\n"));
    let evicted = reports.put(reporter(), &tally, now).map_err(no_room)?;
    stats.hub_reports_evicted.count_all(evicted);
    Ok(())
}

/// The hash of the names in the client's certificate, which stay the same when it is renewed. The capacity for reports is
/// shared by these hashes.
fn reporter() -> u64 {
    let names = ["uri_san", "dns_san", "subject"].map(|name| format!("{name}_peer_certificate"));
    let values = names
        .iter()
        .map(|name| host::property(&["connection", name]).unwrap_or_default());
    hash::of(&values.collect::<Vec<_>>())
}

fn text(status: u16, body: impl Into<String>) -> LocalReply {
    LocalReply {
        status,
        headers: vec![("content-type", "text/plain; charset=utf-8".into())],
        body: body.into().into_bytes().into(),
    }
}
