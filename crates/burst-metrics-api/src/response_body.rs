//! The bodies that carry values: a list of the API's own kind, or a Table for people. Each is written once, from front
//! to back: what all items have in common is made before the first.

use super::accept::ResponseFormat;
use super::api_version::ApiVersion;
use super::json::{Quoted, list};
use super::metric_values::MetricValues;
use burst_model::time::Time;
use humantime::format_rfc3339_seconds;
use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};

/// What the items of an answer have in common.
#[derive(Debug)]
pub(super) struct ValueListMeta {
    pub(super) api: ApiVersion,
    pub(super) form: ResponseFormat,
    /// The time of the read in milliseconds: it rises when the values are read again.
    pub(super) version: u64,
    /// The same as RFC 3339 has it.
    pub(super) timestamp: String,
    pub(super) window: Option<u64>,
    pub(super) age: Duration,
}

impl ValueListMeta {
    pub(super) fn new(api: ApiVersion, form: ResponseFormat, reading: &MetricValues<'_>, now: Time) -> Self {
        let as_of = reading.as_of;
        Self {
            api,
            form,
            version: as_of.unix_millis(),
            timestamp: rfc3339(as_of),
            window: reading.window.map(|window| window.as_secs()),
            age: now.since(as_of),
        }
    }

    /// Of an answer without values.
    pub(super) fn of_nothing(api: ApiVersion, form: ResponseFormat, now: Time) -> Self {
        Self {
            api,
            form,
            version: now.unix_millis(),
            timestamp: rfc3339(now),
            window: None,
            age: Duration::ZERO,
        }
    }
}

/// In UTC, to the second. Years beyond four digits have no such form.
fn rfc3339(time: Time) -> String {
    const LAST: u64 = 253_402_300_799;
    let seconds = Duration::from_secs(time.unix_seconds().min(LAST));
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write!(text, "{}", format_rfc3339_seconds(UNIX_EPOCH + seconds));
    text
}

/// A body under way.
#[derive(Debug)]
pub(super) struct ResponseBody {
    body: String,
    is_empty: bool,
}

impl ResponseBody {
    /// Begins a body with room for so many items. Columns are those of a Table between the name and the age.
    pub(super) fn new(head: &ValueListMeta, columns: &[&str], items: usize) -> Self {
        let mut body = String::with_capacity(256 + items * 288);
        let (api, version) = (head.api, head.version);
        // Writing to a string cannot fail.
        let _ = match head.form {
            ResponseFormat::Table(table) => write!(
                body,
                r#"{{"kind":"Table","apiVersion":"meta.k8s.io/{table}","metadata":{{"resourceVersion":"{version}"}},"columnDefinitions":[{}],"rows":["#,
                definitions(columns)
            ),
            _ => write!(
                body,
                r#"{{"kind":"{}","apiVersion":"{}/{}","metadata":{{"resourceVersion":"{version}"}},"items":["#,
                api.list_kind(),
                api.group(),
                api.version()
            ),
        };
        Self { body, is_empty: true }
    }

    /// The place for the next item.
    pub(super) fn item(&mut self) -> &mut String {
        if !self.is_empty {
            self.body.push(',');
        }
        self.is_empty = false;
        &mut self.body
    }

    pub(super) fn end(mut self) -> String {
        self.body.push_str("]}\n");
        self.body
    }
}

fn definitions(columns: &[&str]) -> String {
    let of = |name: &&str| {
        let (format, description) = match *name {
            "Name" => ("name", "what the value is of"),
            "Value" => ("", "the value, as a quantity"),
            "Labels" => ("", "the labels of the series"),
            _ => ("", "time since the value was read"),
        };
        format!(r#"{{"name":"{name}","type":"string","format":"{format}","description":"{description}","priority":0}}"#)
    };
    list(columns.iter().map(of))
}

/// The metadata that kubectl takes a row's name and namespace from.
pub(super) fn row_object(name: &str, namespace: Option<&str>) -> String {
    let namespace = namespace.map_or_else(String::new, |namespace| {
        format!(r#","namespace":{}"#, Quoted(namespace))
    });
    format!(
        r#""object":{{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{{"name":{}{namespace},"creationTimestamp":null}}}}"#,
        Quoted(name)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_time_has_a_timestamp() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (1_795_225_229, "2026-11-21T01:40:29Z"),
            (u64::MAX / 1000, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(rfc3339(Time::from_unix_millis(seconds * 1000)), text);
        }
    }
}
