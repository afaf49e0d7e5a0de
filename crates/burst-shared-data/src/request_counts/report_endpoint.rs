//! Takes the reports of other proxies, which come as requests on a filter chain of their own.

use super::report_store::ReportStore;
use crate::shared_data::SharedData;
use burst_model::config::{Config, RequestsConfig};
use burst_model::records::RequestCountKeys;
use burst_model::request_rates::report::{self, InvalidReport};
use burst_model::request_rates::report_index::ReportsFull;
use burst_model::serve::LocalReply;
use burst_model::time::Time;

/// A request on the filter chain of the reports.
#[derive(Clone, Copy, Debug)]
pub struct ReportRequest<'a> {
    /// The method.
    pub method: &'a [u8],
    /// The path with the query.
    pub path: &'a [u8],
    /// The value of the header [`report::HEADER`].
    pub tally: &'a [u8],
    /// A hash of the names in the client's certificate; `None` without mutual TLS.
    pub reporter: Option<u64>,
}

/// Why a request on the filter chain of the reports is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReportRefusal {
    /// The path is another one.
    #[error("only reports are accepted here")]
    NoReport,
    /// The method is another one.
    #[error("a report is a POST")]
    Method,
    /// A report changes what autoscalers see, so the proxy must show its certificate.
    #[error("a report must come over mutual TLS")]
    Insecure,
    /// The tally is not one that the hub can add up.
    #[error(transparent)]
    Invalid(#[from] InvalidReport),
    /// The hub has as many reports as it stores.
    #[error(transparent)]
    Full(#[from] ReportsFull),
}

impl ReportRefusal {
    /// Returns whether the request is a report.
    #[must_use]
    pub fn is_report(&self) -> bool {
        !matches!(self, Self::NoReport | Self::Method)
    }

    /// The answer to the request.
    #[must_use]
    pub fn to_reply(&self) -> LocalReply {
        let status = match self {
            Self::NoReport => 404,
            Self::Method => 405,
            Self::Insecure => 403,
            Self::Invalid(_) => 400,
            Self::Full(_) => 507,
        };
        LocalReply::new(status, TEXT, format!("{self}\n").into_bytes())
    }
}

const TEXT: &str = "text/plain; charset=utf-8";

/// The answer to a report that was stored.
#[must_use]
pub fn accepted() -> LocalReply {
    LocalReply::new(204, TEXT, Vec::new())
}

/// Stores a report. Returns how many older ones were evicted for it.
///
/// # Errors
/// The request is no report, or the report cannot be accepted.
pub fn accept_report<H: SharedData>(
    config: &Config,
    requests: &RequestsConfig,
    request: ReportRequest<'_>,
    now: Time,
) -> Result<usize, ReportRefusal> {
    if request.path != report::PATH.as_bytes() {
        return Err(ReportRefusal::NoReport);
    }
    if request.method != b"POST" {
        return Err(ReportRefusal::Method);
    }
    let reporter = request.reporter.ok_or(ReportRefusal::Insecure)?;
    let tally = report::parse(request.tally, requests.window, requests.proxy_report_max_age(), now)?;
    let reports = ReportStore::<H>::new(RequestCountKeys::new(config.metrics_hash()));
    Ok(reports.put(reporter, &tally, now)?)
}
