//! A report: what a proxy tells the hub, and what comes of it.
//!
//! It is a POST whose header holds the proxy's share. A body would need a callback that the host then calls for every
//! piece of every request's body, on every listener; a header is there when the request is.

use super::tally::Tally;
use super::text::InvalidTally;
use crate::printable::{MAX_MESSAGE_BYTES, printable};
use crate::time::Time;
use std::time::Duration;

/// The path that reports are sent to.
pub const PATH: &str = "/burst-metrics/report";

/// The header with the share.
pub const HEADER: &str = "x-burst-report";

/// Why a report is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidReport {
    /// It cannot be read.
    #[error("the report {0}")]
    Share(#[from] InvalidTally),
    /// Its counts are too old.
    #[error("the report is of {} s ago", .0.as_secs())]
    Late(Duration),
    /// The proxies have different windows.
    #[error("the report is of {} s, and the window here is {} s: give all proxies the same `requests.window`",
        .0.as_secs(), .1.as_secs())]
    Window(Duration, Duration),
}

/// Reads a report that has just come; one that would spoil the sum is refused.
///
/// # Errors
/// What is wrong with it.
pub fn read(text: &[u8], window: Duration, patience: Duration, now: Time) -> Result<Tally<'_>, InvalidReport> {
    let share = Tally::parse_report(text, now)?;
    if !share.is_fresh(now, patience) {
        return Err(InvalidReport::Late(now.since(share.taken)));
    }
    // The longest span is the sum's: too long a one would make every rate smaller.
    if share.span > window.saturating_mul(2) {
        return Err(InvalidReport::Window(share.span, window));
    }
    Ok(share)
}

/// Why the hub does not have a report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReportFailure {
    /// Envoy did not send it.
    #[error("the report was not sent: {0}")]
    NotSent(String),
    /// The answer, if there was one, is none of a hub.
    #[error("nothing answers as the hub does; check the cluster, its certificates and the hub's `requests.accept`")]
    NoHub,
    /// No answer in time, or only a part of one.
    #[error("the hub did not answer in time")]
    Timeout,
    /// Too many Services for a header.
    #[error("the report is larger than the hub's listener allows; raise its `max_request_headers_kb`")]
    TooLarge,
    /// The hub's own words.
    #[error("the hub refuses the report with {status}: {words}")]
    Refused {
        /// The status.
        status: u16,
        /// Its words.
        words: String,
    },
}

/// What an answer means: the status, `None` where there is none, and the body.
///
/// # Errors
/// The hub does not have the report.
pub fn outcome(status: Option<u16>, body: &[u8]) -> Result<(), ReportFailure> {
    match status {
        Some(204) => Ok(()),
        None | Some(504) => Err(ReportFailure::Timeout),
        Some(431) => Err(ReportFailure::TooLarge),
        Some(status @ (400 | 403 | 405 | 507)) => Err(ReportFailure::Refused {
            status,
            words: printable(String::from_utf8_lossy(body).trim(), MAX_MESSAGE_BYTES),
        }),
        Some(_) => Err(ReportFailure::NoHub),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_secs(30);
    const PATIENCE: Duration = Duration::from_secs(15);

    #[test]
    fn a_report_that_would_spoil_the_sum_is_refused() {
        let now = Time::from_unix_millis(1_000_000);
        let read = |age: u64, span: u64| {
            let text = format!("1;0000000000000002;{age};{span};shop/web=1,0");
            let taken = read(text.as_bytes(), WINDOW, PATIENCE, now).map(|share| share.taken);
            taken.map_err(|error| error.to_string())
        };
        assert_eq!(read(9_000, 30_000), Ok(Time::from_unix_millis(991_000)));
        assert_eq!(read(40_000, 30_000), Err("the report is of 40 s ago".into()));
        assert_eq!(read(u64::MAX, 30_000), Err("the report is of 1000 s ago".into()));
        let words = "the report is of 61 s, and the window here is 30 s: give all proxies the same `requests.window`";
        assert_eq!(read(0, 61_000), Err(words.into()));
        let garbage = super::read(b"hello", WINDOW, PATIENCE, now).unwrap_err().to_string();
        assert_eq!(garbage, "the report is not a share of version 1");
    }

    #[test]
    fn only_the_hubs_own_word_counts_as_taken() {
        assert_eq!(outcome(Some(204), b""), Ok(()));
        for (status, error) in [
            (None, ReportFailure::Timeout),
            (Some(504), ReportFailure::Timeout),
            (Some(200), ReportFailure::NoHub),
            (Some(404), ReportFailure::NoHub),
            (Some(503), ReportFailure::NoHub),
            (Some(431), ReportFailure::TooLarge),
        ] {
            assert_eq!(outcome(status, b"x"), Err(error), "{status:?}");
        }
        let refused = outcome(Some(400), b"the report is\r\nof 40 s ago\n")
            .unwrap_err()
            .to_string();
        assert_eq!(
            refused,
            r"the hub refuses the report with 400: the report is\r\nof 40 s ago"
        );
    }
}
