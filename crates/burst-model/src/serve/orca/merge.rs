//! Adds the metrics of the filter to the report of an upstream, in its format. What the upstream says stays.

use super::report::{NAMED_PREFIX, OrcaReport, push_text_metric};
use crate::serve::format::push_milli;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};

/// The longest report that is read, in bytes. Usual ones have some hundred.
const MAX_BYTES: usize = 8 << 10;

/// The result of adding metrics to a report.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Merged {
    /// The value of the header.
    Report(String),
    /// The report is in the binary format, or too long.
    NotRead,
    /// The report is in no format.
    Invalid,
}

pub(super) fn merge(sent: &[u8], report: &OrcaReport) -> Merged {
    // Its configuration cannot ask for this.
    if cfg!(feature = "header-only") {
        return Merged::NotRead;
    }
    if sent.len() > MAX_BYTES || sent.starts_with(b"BIN ") {
        return Merged::NotRead;
    }
    let Ok(sent) = std::str::from_utf8(sent) else {
        return Merged::Invalid;
    };
    let merged = match (sent.strip_prefix("TEXT "), sent.strip_prefix("JSON ")) {
        (Some(metrics), _) => merge_text(metrics, report),
        (_, Some(message)) => merge_json(message, report),
        _ => None,
    };
    merged.map_or(Merged::Invalid, Merged::Report)
}

/// `None` if these are not metrics.
fn merge_text(metrics: &str, report: &OrcaReport) -> Option<String> {
    let mut known = BTreeSet::new();
    let mut text = "TEXT ".to_owned();
    for metric in metrics.split(',').map(str::trim).filter(|metric| !metric.is_empty()) {
        let (name, value) = metric.split_once(['=', ':'])?;
        // A reader refuses a report with two values of a metric.
        let is_valid = is_name(name) && is_number(value.trim()) && known.insert(name);
        is_valid.then_some(())?;
        text.push_str(metric);
        text.push(',');
    }
    let own = report.fields().iter().map(|metric| ("", metric));
    for (prefix, (name, milli)) in own.chain(report.named().iter().map(|metric| (NAMED_PREFIX, metric))) {
        if !known.contains(format!("{prefix}{name}").as_str()) {
            push_text_metric(&mut text, prefix, name, *milli);
            text.push(',');
        }
    }
    Some(text.trim_end_matches(',').to_owned())
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Whether this is a decimal number. The standard library's parser of floating-point numbers would make the module larger.
fn is_number(text: &str) -> bool {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = unsigned(mantissa).split_once('.').unwrap_or((unsigned(mantissa), ""));
    let parts = [whole, fraction, unsigned(exponent)];
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    parts.into_iter().all(is_digits) && !unsigned(exponent).is_empty() && !(whole.is_empty() && fraction.is_empty())
}

fn unsigned(number: &str) -> &str {
    number.strip_prefix(['-', '+']).unwrap_or(number)
}

type Fields = BTreeMap<String, Box<RawValue>>;

/// `None` if this is not a message.
fn merge_json(message: &str, report: &OrcaReport) -> Option<String> {
    let mut fields: Fields = serde_json::from_str(message).ok()?;
    let named_key = field_name(&fields, "named_metrics");
    let named = fields.get(&named_key).map_or("null", |named| named.get());
    let mut named: Fields = serde_json::from_str::<Option<_>>(named).ok()?.unwrap_or_default();
    for (name, milli) in report.named() {
        named.entry((*name).to_owned()).or_insert(number(*milli)?);
    }
    fields.insert(named_key, serde_json::value::to_raw_value(&named).ok()?);
    for (name, milli) in report.fields() {
        fields.entry(field_name(&fields, name)).or_insert(number(*milli)?);
    }
    Some(format!("JSON {}", serde_json::to_string(&fields).ok()?))
}

/// The name of a field of the message as the upstream writes it. Readers accept `named_metrics` and `namedMetrics`, but not both.
fn field_name(fields: &Fields, name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    let camel = parts.fold(first, |camel, part| {
        let (initial, rest) = part.split_at_checked(1).unwrap_or_default();
        camel + &initial.to_ascii_uppercase() + rest
    });
    if fields.contains_key(&camel) {
        camel
    } else {
        name.to_owned()
    }
}

fn number(milli: u64) -> Option<Box<RawValue>> {
    let mut text = String::new();
    push_milli(&mut text, milli);
    RawValue::from_string(text).ok()
}
