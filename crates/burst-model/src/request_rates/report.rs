//! The report that a proxy sends to the hub, and the hub's response.
//!
//! A report is a POST whose header holds the proxy's tally. To read a body, the module would export a callback that Envoy
//! then calls for every part of every request's body on every listener.

use super::tally::Tally;
use super::text::InvalidTally;
use crate::printable::{LONGEST_QUOTE, printable};
use crate::time::Time;
use std::time::Duration;

/// The path of reports.
pub const PATH: &str = "/burst-metrics/report";

/// The header with the tally.
pub const HEADER: &str = "x-burst-report";

/// Why the hub refuses a report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidReport {
    /// The tally cannot be parsed.
    #[error("the report {0}")]
    Tally(#[from] InvalidTally),
    /// The counts are too old, or in the future.
    #[error("the report is of {} s ago", .0.as_secs())]
    TooOld(Duration),
    /// The window of the proxy differs from the hub's.
    #[error("the report is of {} s, and the window here is {} s: give all proxies the same `requests.window`",
        .0.as_secs(), .1.as_secs())]
    WindowMismatch(Duration, Duration),
}

/// Parses a report that was received at `now`.
///
/// # Errors
/// The report would make the sum wrong.
pub fn parse(text: &[u8], window: Duration, max_age: Duration, now: Time) -> Result<Tally<'_>, InvalidReport> {
    let tally = Tally::parse_report(text, now)?;
    if !tally.is_fresh(now, max_age) {
        return Err(InvalidReport::TooOld(now.since(tally.taken_at)));
    }
    // A sum covers the longest span of its tallies, so a span that is too long would lower every rate.
    if tally.span > window.saturating_mul(2) {
        return Err(InvalidReport::WindowMismatch(tally.span, window));
    }
    Ok(tally)
}

/// Why the hub did not accept a report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReportFailure {
    /// Envoy did not send the report.
    #[error("the report was not sent: {0}")]
    NotSent(String),
    /// The response is not a hub's.
    #[error("nothing answers as the hub does; check the cluster, its certificates and the hub's `requests.accept`")]
    NoHub,
    /// There was no complete response in time.
    #[error("the hub did not answer in time")]
    Timeout,
    /// The report has too many Services for a header.
    #[error("the report is larger than the hub's listener allows; raise its `max_request_headers_kb`")]
    TooLarge,
    /// The hub refused the report.
    #[error("the hub refuses the report with {status}: {message}")]
    Refused {
        /// The status.
        status: u16,
        /// The hub's message.
        message: String,
    },
}

/// Parses the hub's response. `status` is `None` if the callout ended without headers.
///
/// # Errors
/// The hub did not accept the report.
pub fn parse_response(status: Option<u16>, body: &[u8]) -> Result<(), ReportFailure> {
    match status {
        Some(204) => Ok(()),
        None | Some(504) => Err(ReportFailure::Timeout),
        Some(431) => Err(ReportFailure::TooLarge),
        Some(status @ (400 | 403 | 405 | 507)) => Err(ReportFailure::Refused {
            status,
            message: printable(String::from_utf8_lossy(body).trim(), LONGEST_QUOTE),
        }),
        Some(_) => Err(ReportFailure::NoHub),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_secs(30);
    const MAX_AGE: Duration = Duration::from_secs(15);

    #[test]
    fn a_report_that_would_make_the_sum_wrong_is_refused() {
        let now = Time::from_unix_millis(1_000_000);
        let read = |age: u64, span: u64| {
            let text = format!("1;0000000000000002;{age};{span};shop/web=1,0");
            let taken = parse(text.as_bytes(), WINDOW, MAX_AGE, now).map(|tally| tally.taken_at);
            taken.map_err(|error| error.to_string())
        };
        assert_eq!(read(9_000, 30_000), Ok(Time::from_unix_millis(991_000)));
        assert_eq!(read(40_000, 30_000), Err("the report is of 40 s ago".into()));
        assert_eq!(read(u64::MAX, 30_000), Err("the report is of 1000 s ago".into()));
        let message = "the report is of 61 s, and the window here is 30 s: give all proxies the same `requests.window`";
        assert_eq!(read(0, 61_000), Err(message.into()));
        let garbage = super::parse(b"hello", WINDOW, MAX_AGE, now).unwrap_err().to_string();
        assert_eq!(garbage, "the report is not a tally of version 1");
    }

    #[test]
    fn only_a_204_means_that_the_hub_accepted_the_report() {
        assert_eq!(parse_response(Some(204), b""), Ok(()));
        for (status, error) in [
            (None, ReportFailure::Timeout),
            (Some(504), ReportFailure::Timeout),
            (Some(200), ReportFailure::NoHub),
            (Some(404), ReportFailure::NoHub),
            (Some(503), ReportFailure::NoHub),
            (Some(431), ReportFailure::TooLarge),
        ] {
            assert_eq!(parse_response(status, b"x"), Err(error), "{status:?}");
        }
        let refused = parse_response(Some(400), b"the report is\r\nof 40 s ago\n")
            .unwrap_err()
            .to_string();
        assert_eq!(
            refused,
            "the hub refuses the report with 400: the report is␍␊of 40 s ago"
        );
    }
}
