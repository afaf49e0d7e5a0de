//! The text format of a tally, in shared data and in the header of a report.
//!
//! ```text
//! 1;ID;MILLIS;SPAN;NAMESPACE/NAME=REQUESTS,REJECTED,IN-FLIGHT;NAMESPACE/NAME=REQUESTS,REJECTED;…
//! …;@;@ADDRESS=REQUESTS,REJECTED;…
//! ```
//!
//! Numbers are decimal, the id has 16 hexadecimal digits, times are in milliseconds, names are sorted, and so are
//! addresses. The single `@` means that all addresses with a request follow, if there are any. The format is text because a
//! header cannot hold arbitrary bytes.

use super::address_meter::MAX_ADDRESSES;
use super::count::RequestCounts;
use super::tally::{MAX_SERVICES, Tally};
use crate::name::ObjectName;
use crate::time::Time;
use std::fmt::Write;
use std::net::IpAddr;
use std::time::Duration;

/// The version of the format. Increase it whenever the format changes.
const VERSION: &str = "1";

/// What stands before all addresses, and before each of them. No Service begins like this.
const ADDRESS: &str = ";@";

/// The longest report that is parsed. 20,000 Services with common names take less than 1 MiB.
pub const MAX_REPORT_BYTES: usize = 2 << 20;

/// The longest text of this proxy that is parsed. The numbers of a sum are longer than those of its tallies.
const MAX_TALLY_BYTES: usize = 2 * MAX_REPORT_BYTES;

/// Why a text is not a tally.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTally {
    /// The text is too long.
    #[error("of {0} bytes is longer than the {1} bytes that are read")]
    TooLong(usize, usize),
    /// The text has another version, or is something else.
    #[error("is not a tally of version {VERSION}")]
    Version,
    /// The number with that name is invalid.
    #[error("{0}: is not a number as it should be")]
    Number(&'static str),
    /// The Service with that index is invalid.
    #[error("service {0}: is not NAMESPACE/NAME=REQUESTS,REJECTED or …,IN-FLIGHT")]
    Service(usize),
    /// The Service with that index is not sorted, or is there twice.
    #[error("service {0}: is out of order")]
    Order(usize),
    /// There are more Services than a tally may have.
    #[error("there are more than {MAX_SERVICES} services")]
    TooMany,
    /// The address with that index is invalid, is not sorted, or is there twice.
    #[error("address {0}: is not @ADDRESS=REQUESTS,REJECTED, or is out of order")]
    Address(usize),
    /// There are more addresses than a tally may have.
    #[error("there are more than {MAX_ADDRESSES} addresses")]
    TooManyAddresses,
}

/// The id of a tally's observer. Only the start of the text is parsed.
#[must_use]
pub fn id_of(text: &[u8]) -> Option<u64> {
    head(text).map(|(id, _)| id)
}

/// The end of a tally's period. Only the start of the text is parsed.
pub(super) fn taken_at(text: &[u8]) -> Option<Time> {
    head(text).map(|(_, taken)| taken)
}

fn head(text: &[u8]) -> Option<(u64, Time)> {
    let mut parts = text.splitn(4, |byte| *byte == b';').map(std::str::from_utf8);
    let mut part = || parts.next()?.ok();
    (part()? == VERSION).then_some(())?;
    let (id, taken) = (hexadecimal(part()?)?, decimal(part()?)?);
    Some((id, Time::from_unix_millis(taken)))
}

impl<'a> Tally<'a> {
    /// The tally as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.to_text_with(self.taken_at.unix_millis())
    }

    /// The tally as text for another machine: with its age in place of the time, because clocks differ.
    #[must_use]
    pub fn to_report(&self, now: Time) -> String {
        self.to_text_with(millis(now.since(self.taken_at)))
    }

    fn to_text_with(&self, moment: u64) -> String {
        let mut text = format!("{VERSION};{:016x};{moment};{}", self.id, millis(self.span));
        text.reserve(self.services.len() * 48);
        for (
            name,
            RequestCounts {
                requests,
                rejected,
                in_flight_milli,
            },
        ) in &self.services
        {
            // Writing to a `String` cannot fail.
            let _ = write!(text, ";{name}={requests},{rejected}");
            if let Some(in_flight) = in_flight_milli {
                let _ = write!(text, ",{in_flight}");
            }
        }
        if let Some(addresses) = &self.addresses {
            text.push_str(ADDRESS);
            for (address, count) in addresses {
                let _ = write!(text, "{ADDRESS}{address}={},{}", count.requests, count.rejected);
            }
        }
        text
    }

    /// Parses a text.
    ///
    /// # Errors
    /// It is not exactly what [`Self::to_text`] writes.
    pub fn parse(text: &'a [u8]) -> Result<Self, InvalidTally> {
        check_length(text, MAX_TALLY_BYTES)?;
        let text = std::str::from_utf8(text).map_err(|_| InvalidTally::Version)?;
        let (text, addresses) = match text.split_once(ADDRESS) {
            Some((text, addresses)) => (text, Some(addresses)),
            None => (text, None),
        };
        let mut parts = text.split(';');
        if parts.next() != Some(VERSION) {
            return Err(InvalidTally::Version);
        }
        let mut number =
            |name, read: fn(&str) -> Option<u64>| parts.next().and_then(read).ok_or(InvalidTally::Number(name));
        let id = number("id", hexadecimal)?;
        let taken = Time::from_unix_millis(number("time", decimal)?);
        let span = Duration::from_millis(number("span", decimal)?);
        let mut services: Vec<(&str, RequestCounts)> = Vec::new();
        for (index, part) in parts.enumerate() {
            let (name, count) = service(part).ok_or(InvalidTally::Service(index))?;
            if services.last().is_some_and(|(last, _)| *last >= name) {
                return Err(InvalidTally::Order(index));
            }
            if index >= MAX_SERVICES {
                return Err(InvalidTally::TooMany);
            }
            services.push((name, count));
        }
        Ok(Self {
            id,
            taken_at: taken,
            span,
            services,
            addresses: addresses.map(parse_addresses).transpose()?,
        })
    }

    /// Parses the text of a report that was received at `now`.
    ///
    /// # Errors
    /// It is not exactly what [`Self::to_report`] writes.
    pub fn parse_report(text: &'a [u8], now: Time) -> Result<Self, InvalidTally> {
        check_length(text, MAX_REPORT_BYTES)?;
        let tally = Self::parse(text)?;
        let age = tally.taken_at.unix_millis();
        let taken = Time::from_unix_millis(now.unix_millis().saturating_sub(age));
        Ok(Self {
            taken_at: taken,
            ..tally
        })
    }
}

fn check_length(text: &[u8], most: usize) -> Result<(), InvalidTally> {
    match text.len() <= most {
        true => Ok(()),
        false => Err(InvalidTally::TooLong(text.len(), most)),
    }
}

/// The bytes that a Service takes in the text.
pub(super) fn length(name: &str, count: &RequestCounts) -> usize {
    let digits = |number: u64| number.checked_ilog10().map_or(1, |log| log.saturating_add(1)) as usize;
    let in_flight = count
        .in_flight_milli
        .map_or(0, |number| digits(number).saturating_add(1));
    let numbers = digits(count.requests).saturating_add(digits(count.rejected));
    // The name and the numbers, with `;`, `=` and `,`.
    name.len()
        .saturating_add(3)
        .saturating_add(numbers)
        .saturating_add(in_flight)
}

/// The bytes that an address takes in the text.
pub(super) fn address_length(address: &IpAddr, count: &RequestCounts) -> usize {
    length(&address.to_string(), count).saturating_add(ADDRESS.len() - 1)
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

fn service(part: &str) -> Option<(&str, RequestCounts)> {
    let (name, counts) = part.split_once('=')?;
    ObjectName::is_valid(name).then_some(())?;
    Some((name, counts_of(counts)?))
}

fn counts_of(text: &str) -> Option<RequestCounts> {
    let mut counts = text.split(',');
    let requests = counts.next().and_then(decimal)?;
    let rejected = counts.next().and_then(decimal)?;
    let in_flight_milli = match counts.next() {
        Some(number) => Some(decimal(number)?),
        None => None,
    };
    let count = RequestCounts {
        requests,
        rejected,
        in_flight_milli,
    };
    (rejected <= requests && counts.next().is_none()).then_some(count)
}

/// Parses what follows the mark that addresses are counted.
fn parse_addresses(text: &str) -> Result<Vec<(IpAddr, RequestCounts)>, InvalidTally> {
    let mut parts = text.split(ADDRESS);
    if parts.next() != Some("") {
        return Err(InvalidTally::Address(0));
    }
    let mut addresses: Vec<(IpAddr, RequestCounts)> = Vec::new();
    for (index, part) in parts.enumerate() {
        let (address, count) = address(part)
            .filter(|(address, _)| addresses.last().is_none_or(|(last, _)| last < address))
            .ok_or(InvalidTally::Address(index))?;
        if index >= MAX_ADDRESSES {
            return Err(InvalidTally::TooManyAddresses);
        }
        addresses.push((address, count));
    }
    Ok(addresses)
}

fn address(part: &str) -> Option<(IpAddr, RequestCounts)> {
    let (text, counts) = part.split_once('=')?;
    // Only the canonical text, so that no address is there twice.
    let address: IpAddr = text.parse().ok()?;
    let is_canonical = address == address.to_canonical() && address.to_string() == text;
    let count = counts_of(counts).filter(|count| is_canonical && count.in_flight_milli.is_none())?;
    Some((address, count))
}

/// Digits and nothing else: `parse` takes a plus as well.
fn decimal(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

fn hexadecimal(text: &str) -> Option<u64> {
    let digits = text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    digits.then(|| u64::from_str_radix(text, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::super::arbitrary::tally;
    use super::*;
    use proptest::prelude::*;

    const TALLY: &[u8] = b"1;00000000000000ff;5000;30000;shop/api=3,3;shop/web=60,2,1500";

    #[test]
    fn a_tally_is_one_line_of_text() {
        let tally = Tally::parse(TALLY).unwrap();
        assert_eq!(
            (tally.id, tally.taken_at, tally.span),
            (255, Time::from_unix_millis(5_000), Duration::from_secs(30))
        );
        let web = RequestCounts {
            requests: 60,
            rejected: 2,
            in_flight_milli: Some(1500),
        };
        assert_eq!(tally.services[1], ("shop/web", web));
        assert_eq!(tally.services[0].1.in_flight_milli, None);
        assert_eq!(tally.to_text().as_bytes(), TALLY);
        assert_eq!(head(TALLY), Some((255, tally.taken_at)));
    }

    #[test]
    fn addresses_follow_the_services_if_they_are_counted() {
        let parsed = |text: &str| Tally::parse(text.as_bytes()).unwrap().addresses;
        let head = "1;00000000000000ff;5000;30000;shop/web=60,2,1500";
        assert_eq!((parsed(head), parsed(&format!("{head};@"))), (None, Some(vec![])));
        let text = format!("{head};@;@10.0.0.1=60,2;@fd00::1=3,0");
        let tally = Tally::parse(text.as_bytes()).unwrap();
        let counts = |requests, rejected| RequestCounts {
            requests,
            rejected,
            in_flight_milli: None,
        };
        let expected = [("10.0.0.1", counts(60, 2)), ("fd00::1", counts(3, 0))];
        let expected = expected.map(|(address, counts)| (address.parse().unwrap(), counts));
        assert_eq!(tally.addresses.as_deref(), Some(&expected[..]));
        assert_eq!((tally.services.len(), tally.to_text()), (1, text));
    }

    #[test]
    fn addresses_beyond_what_a_tally_may_have_are_refused() {
        let of = |count: usize| {
            let address = |n: usize| format!(";@10.{}.{}.{}=1,0", n >> 16, (n >> 8) & 255, n & 255);
            let addresses: Vec<_> = (0..count).map(address).collect();
            format!("1;00000000000000ff;5000;30000;@{}", addresses.concat())
        };
        assert!(Tally::parse(of(MAX_ADDRESSES).as_bytes()).is_ok());
        assert_eq!(
            Tally::parse(of(MAX_ADDRESSES + 1).as_bytes()),
            Err(InvalidTally::TooManyAddresses)
        );
    }

    #[test]
    fn clocks_that_differ_do_not_matter_to_a_report() {
        let tally = Tally::parse(TALLY).unwrap();
        let report = tally.to_report(Time::from_unix_millis(5_700));
        let here = Time::from_unix_millis(1_000_000);
        let read = Tally::parse_report(report.as_bytes(), here).unwrap();
        assert_eq!(read.taken_at, Time::from_unix_millis(999_300));
        assert_eq!(read.services, tally.services);
    }

    #[test]
    fn an_invalid_tally_is_refused_with_the_position() {
        let head = "1;00000000000000ff;5000;30000";
        let number = InvalidTally::Number;
        for (text, error) in [
            ("", InvalidTally::Version),
            ("2;00000000000000ff;5000;30000", InvalidTally::Version),
            ("1", number("id")),
            ("1;ff;5000;30000", number("id")),
            ("1;00000000000000FF;5000;30000", number("id")),
            ("1;00000000000000ff;+5;30000", number("time")),
            ("1;00000000000000ff;5000;99999999999999999999", number("span")),
            (&format!("{head};"), InvalidTally::Service(0)),
            (&format!("{head};shop=1,0"), InvalidTally::Service(0)),
            (&format!("{head};Shop/web=1,0"), InvalidTally::Service(0)),
            (&format!("{head};shop/web=1"), InvalidTally::Service(0)),
            (&format!("{head};shop/web=1,2"), InvalidTally::Service(0)),
            (&format!("{head};shop/web=1,0,"), InvalidTally::Service(0)),
            (&format!("{head};shop/web=1,0,3,4"), InvalidTally::Service(0)),
            (&format!("{head};shop/web=1,-0"), InvalidTally::Service(0)),
            (&format!("{head};a/b=1,0;shop/web=1,0 "), InvalidTally::Service(1)),
            (&format!("{head};@10.0.0.1=1,0"), InvalidTally::Address(0)),
            (&format!("{head};@;"), InvalidTally::Address(0)),
            (&format!("{head};@;@"), InvalidTally::Address(0)),
            (&format!("{head};@;@;a/b=1,0"), InvalidTally::Address(0)),
            (&format!("{head};@;@web=1,0"), InvalidTally::Address(0)),
            (&format!("{head};@;@10.0.0.1=1,2"), InvalidTally::Address(0)),
            (&format!("{head};@;@10.0.0.1=1,0,0"), InvalidTally::Address(0)),
            (&format!("{head};@;@fd00:0::1=1,0"), InvalidTally::Address(0)),
            (&format!("{head};@;@::ffff:10.0.0.1=1,0"), InvalidTally::Address(0)),
            (
                &format!("{head};@;@10.0.0.1=1,0;@10.0.0.1=1,0"),
                InvalidTally::Address(1),
            ),
            (
                &format!("{head};@;@fd00::1=1,0;@10.0.0.1=1,0"),
                InvalidTally::Address(1),
            ),
            (&format!("{head};b/b=1,0;a/b=1,0"), InvalidTally::Order(1)),
            (&format!("{head};a/b=1,0;a/b=1,0"), InvalidTally::Order(1)),
        ] {
            assert_eq!(Tally::parse(text.as_bytes()), Err(error), "{text}");
        }
        let long = vec![b'1'; MAX_TALLY_BYTES + 1];
        assert_eq!(
            Tally::parse(&long),
            Err(InvalidTally::TooLong(MAX_TALLY_BYTES + 1, MAX_TALLY_BYTES))
        );
        let report = Tally::parse_report(&long[..=MAX_REPORT_BYTES], Time::default());
        assert_eq!(
            report,
            Err(InvalidTally::TooLong(MAX_REPORT_BYTES + 1, MAX_REPORT_BYTES))
        );
        assert_eq!(Tally::parse(b"1;\xff"), Err(InvalidTally::Version));
    }

    #[test]
    fn services_beyond_what_a_tally_may_have_are_refused() {
        let of = |services: usize| {
            let rows: Vec<_> = (0..services).map(|n| format!(";a/{n:05}=1,0")).collect();
            format!("1;00000000000000ff;5000;30000{}", rows.concat())
        };
        assert!(Tally::parse(of(MAX_SERVICES).as_bytes()).is_ok());
        assert_eq!(
            Tally::parse(of(MAX_SERVICES + 1).as_bytes()),
            Err(InvalidTally::TooMany)
        );
    }

    proptest! {
        #[test]
        fn a_written_tally_is_parsed(tally in tally()) {
            let tally = tally.borrow();
            let text = tally.to_text();
            let services: usize = tally.services.iter().map(|(name, count)| length(name, count)).sum();
            let addresses = tally.addresses.iter().flatten();
            let addresses: usize = addresses.map(|(address, count)| address_length(address, count)).sum();
            let no_address = tally.addresses.as_ref().map(|_| Vec::new());
            let empty = Tally { services: Vec::new(), addresses: no_address, ..tally.clone() }.to_text();
            prop_assert_eq!(empty.len() + services + addresses, text.len());
            prop_assert_eq!(Tally::parse(text.as_bytes()), Ok(tally.clone()));
            prop_assert_eq!(head(text.as_bytes()), Some((tally.id, tally.taken_at)));
        }

        #[test]
        fn a_changed_text_is_invalid_or_another_tally(
            tally in tally(),
            at: prop::sample::Index,
            byte: u8,
        ) {
            let tally = tally.borrow();
            let text = tally.to_text();
            let mut bytes = text.clone().into_bytes();
            let at = at.index(bytes.len());
            prop_assume!(bytes[at] != byte);
            bytes[at] = byte;
            prop_assert_ne!(Tally::parse(&bytes), Ok(tally.clone()));
            prop_assert!(Tally::parse(&text.as_bytes()[..at]) != Ok(tally));
        }

        #[test]
        fn arbitrary_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..128)) {
            prop_assert!(Tally::parse(&bytes).is_err());
            let _ = id_of(&bytes);
        }

        #[test]
        fn arbitrary_text_of_the_format_does_not_panic(text in "1;[0-9a-f]{16};[0-9]{1,20};[0-9]{1,20}(;[a-b/]{1,3}=[0-9,]{1,5}){0,3}") {
            let now = Time::from_unix_millis(1_000_000);
            if let Ok(tally) = Tally::parse_report(text.as_bytes(), now) {
                prop_assert!(tally.taken_at <= now);
            }
        }
    }
}
