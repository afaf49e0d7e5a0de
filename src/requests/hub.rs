//! Takes the reports of other proxies: reads the request from the host and answers it.

use crate::host;
use crate::shared_data::EnvoySharedData;
use crate::stats::Stats;
use burst_model::config::Config;
use burst_model::hash;
use burst_model::request_rates::report;
use burst_model::serve::{LocalReply, burst};
use burst_shared_data::request_counts::{self, ReportRequest, accept_report};

/// Answers the current request if it came by the filter chain of the reports, and is none for `/burstmetrics`.
pub(crate) fn answer_report(config: &Config, stats: &Stats) -> Option<LocalReply> {
    let requests = config.requests.as_deref()?;
    let accept = requests.accept.as_ref()?;
    let chain = host::property(&["xds", "filter_chain_name"])?;
    if chain != accept.as_bytes() {
        return None;
    }
    let [method, path, tally] =
        [":method", ":path", report::HEADER].map(|name| host::request_header(name).unwrap_or_default());
    // A proxy reports and reads by one Envoy cluster, so `/burstmetrics` is served on this filter chain too.
    let endpoints = config.endpoints.as_ref();
    if endpoints.is_some_and(|endpoints| burst::is_own(endpoints, &path)) {
        return None;
    }
    let request = ReportRequest {
        method: &method,
        path: &path,
        tally: &tally,
        reporter: host::is_mutual_tls().then(reporter),
    };
    Some(
        match accept_report::<EnvoySharedData>(config, requests, request, host::now()) {
            Ok(evicted) => {
                stats.hub_reports_taken.count();
                stats.hub_reports_evicted.count_all(evicted);
                request_counts::accepted()
            }
            Err(refusal) => {
                stats.hub_reports_refused.count_all(usize::from(refusal.is_report()));
                refusal.to_reply()
            }
        },
    )
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
