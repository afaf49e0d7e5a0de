//! The formats that `/burstmetrics` answers in if the parameter `format` names one: a view of the same rows for a client that
//! cannot read the header's text.

mod clusters;
mod gtm;
mod json;
mod prometheus;

pub(super) use clusters::{Cluster, Clusters, ClustersFormat};
pub(super) use gtm::{DatacenterKey, LoadObject};

use crate::load::Load;
use crate::signals::SignalSet;
use crate::snapshot::{Entry, Section};
use crate::time::Time;

/// The formats by their names, for messages.
pub(super) const NAMES: &str = "gtm, json, prometheus, weight";

/// A format other than the default one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// An object of numbers for each row, with the signals of the set. `docs/burstmetrics.schema.json` describes it.
    Json(SignalSet),
    /// The text-based exposition format of Prometheus, with the signals of the set.
    Prometheus(SignalSet),
    /// The load object of Akamai Global Traffic Management.
    Gtm(LoadObject),
    /// One number, for one object.
    Weight,
}

/// A reply in a format that can be empty: its content type and its body.
#[derive(Debug)]
pub(super) struct Rendered {
    pub(super) content_type: &'static str,
    pub(super) body: String,
}

impl Format {
    /// The entity tag of all rows of a kind, from [the hash of the rows](Section::content_hash). It is weak where the time of
    /// the read is not part of it, although the body has that time: a client waits for other rows, not for another read.
    pub(super) fn etag(&self, rows: u64, as_of: Time) -> String {
        match self {
            Self::Json(_) => format!("W/\"{rows:016x}-json\""),
            Self::Prometheus(_) => format!("W/\"{rows:016x}-prometheus\""),
            // Its reader takes an old timestamp for old data, so the same rows of a newer read are another load object.
            Self::Gtm(_) => format!("\"{rows:016x}-gtm-{:x}\"", as_of.unix_seconds()),
            Self::Weight => format!("\"{rows:016x}-weight\""),
        }
    }

    /// The signals that it shows.
    pub(super) fn signals(&self) -> SignalSet {
        match self {
            Self::Json(shown) | Self::Prometheus(shown) => *shown,
            Self::Gtm(_) | Self::Weight => SignalSet::default(),
        }
    }

    /// The rows of a kind, or one of them.
    pub(super) fn render<'a>(&self, kind: &str, rows: &Rows<'a>, as_of: Time) -> Rendered {
        let (content_type, body) = match self {
            Self::Json(shown) => ("application/json; charset=utf-8", json::render(rows, *shown, as_of)),
            Self::Prometheus(shown) => (
                "text/plain; version=0.0.4; charset=utf-8",
                prometheus::render(kind, rows, *shown, as_of),
            ),
            Self::Gtm(object) => ("application/xml; charset=utf-8", gtm::render(object, rows, as_of)),
            Self::Weight => ("text/plain; charset=utf-8", weight(rows)),
        };
        Rendered { content_type, body }
    }
}

/// The entity tag that `format=json` has for all rows of a kind if it shows those signals.
pub(crate) fn json_etag(section: Section<'_>, shown: SignalSet) -> String {
    Format::Json(shown).etag(section.content_hash(shown), Time::default())
}

/// The rows that an answer shows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rows<'a> {
    /// All rows of a kind; `None` if the snapshot does not have that kind.
    All(Option<Section<'a>>),
    /// One row.
    One(Entry<'a>),
}

impl<'a> Rows<'a> {
    fn iter(&self) -> impl Iterator<Item = Entry<'a>> + use<'a> {
        let (section, entry) = match self {
            Self::All(section) => (*section, None),
            Self::One(entry) => (None, Some(*entry)),
        };
        section.into_iter().flat_map(Section::rows).chain(entry)
    }

    fn len(&self) -> usize {
        match self {
            Self::All(section) => section.map_or(0, Section::len),
            Self::One(_) => 1,
        }
    }
}

/// The free share of the maximum in percent, rounded down, and at least 1. Pollers take 0 for "out of service"; if every
/// cluster is full, that would leave none.
fn weight(rows: &Rows<'_>) -> String {
    rows.iter().map(|row| free_percent(row.load).to_string()).collect()
}

fn free_percent(load: Load) -> u64 {
    let percent = (u64::from(load.headroom()) * 100).checked_div(load.max.into());
    percent.unwrap_or_default().max(1)
}

// A bulk body has tens of thousands of these parts, and `write!` takes several times as long for them.

fn push(body: &mut String, parts: &[&str]) {
    parts.iter().for_each(|part| body.push_str(part));
}

fn push_number(body: &mut String, number: impl itoa::Integer) {
    body.push_str(itoa::Buffer::new().format(number));
}

/// Thousandths as a decimal number without trailing zeros.
pub(super) fn push_milli(body: &mut String, milli: u64) {
    push_number(body, milli / 1000);
    let fraction = milli % 1000;
    if fraction > 0 {
        body.push('.');
        // The first digit of 1023 and so on goes, and the zeros before the others stay.
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(1000 + fraction).trim_end_matches('0');
        body.push_str(digits.get(1..).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests;
