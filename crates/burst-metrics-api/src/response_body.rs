//! Writes the bodies that carry values: a list of the API's own kind, or a `Table` for kubectl.
//!
//! A body is written once, from front to back. The fields that all items share are prepared before the first one.

use crate::accept::ResponseFormat;
use crate::api_version::ApiVersion;
use crate::json::{JsonString, comma_separated};
use crate::metric_values::MetricValues;
use burst_model::time::Time;
use humantime::format_rfc3339_seconds;
use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};

/// The fields that all items of a body share.
#[derive(Debug)]
pub(crate) struct ValueListMeta {
    pub(crate) api: ApiVersion,
    pub(crate) format: ResponseFormat,
    /// When the values were read, in milliseconds since 1970: a version that increases with each read.
    pub(crate) resource_version: u64,
    /// When the values were read, in RFC 3339.
    pub(crate) timestamp: String,
    /// The time over which values are averaged, in seconds.
    pub(crate) window: Option<u64>,
    /// How old the values are.
    pub(crate) age: Duration,
}

impl ValueListMeta {
    pub(crate) fn new(api: ApiVersion, format: ResponseFormat, values: &MetricValues<'_>, now: Time) -> Self {
        let as_of = values.as_of;
        Self {
            api,
            format,
            resource_version: as_of.unix_millis(),
            timestamp: rfc3339(as_of),
            window: values.window.map(|window| window.as_secs()),
            age: now.since(as_of),
        }
    }

    /// For an empty list.
    pub(crate) fn without_values(api: ApiVersion, format: ResponseFormat, now: Time) -> Self {
        Self {
            api,
            format,
            resource_version: now.unix_millis(),
            timestamp: rfc3339(now),
            window: None,
            age: Duration::ZERO,
        }
    }
}

/// A time in UTC, to the second. RFC 3339 has no years with more than four digits, so later times become the last one.
fn rfc3339(time: Time) -> String {
    const LAST_SECOND: u64 = 253_402_300_799;
    let seconds = Duration::from_secs(time.unix_seconds().min(LAST_SECOND));
    format_rfc3339_seconds(UNIX_EPOCH + seconds).to_string()
}

/// A body that items are appended to.
#[derive(Debug)]
pub(crate) struct ResponseBody {
    body: String,
    is_empty: bool,
}

impl ResponseBody {
    /// Starts a body with capacity for this number of items. `columns` are those of a `Table`.
    pub(crate) fn new(meta: &ValueListMeta, columns: &[&str], items: usize) -> Self {
        let mut body = String::with_capacity(256 + items * 288);
        let (api, version) = (meta.api, meta.resource_version);
        // Writing to a string cannot fail.
        let _ = match meta.format {
            ResponseFormat::Table(table) => write!(
                body,
                r#"{{"kind":"Table","apiVersion":"meta.k8s.io/{table}","metadata":{{"resourceVersion":"{version}"}},"columnDefinitions":[{}],"rows":["#,
                comma_separated(columns.iter().map(|name| column_definition(name)))
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

    /// Starts the next item. The caller appends it to the returned string.
    pub(crate) fn next_item(&mut self) -> &mut String {
        if !self.is_empty {
            self.body.push(',');
        }
        self.is_empty = false;
        &mut self.body
    }

    pub(crate) fn finish(mut self) -> String {
        self.body.push_str("]}\n");
        self.body
    }
}

fn column_definition(name: &str) -> String {
    let (format, description) = match name {
        "Name" => ("name", "the object or namespace that the value is about"),
        "Value" => ("", "the value, as a quantity"),
        "Labels" => ("", "the labels of the series"),
        _ => ("", "time since the value was read"),
    };
    format!(r#"{{"name":"{name}","type":"string","format":"{format}","description":"{description}","priority":0}}"#)
}

/// The metadata of a `Table` row, from which kubectl takes the name and namespace.
pub(crate) fn row_object(name: &str, namespace: Option<&str>) -> String {
    let namespace = namespace.map_or_else(String::new, |namespace| {
        format!(r#","namespace":{}"#, JsonString(namespace))
    });
    format!(
        r#""object":{{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{{"name":{}{namespace},"creationTimestamp":null}}}}"#,
        JsonString(name)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_has_a_timestamp() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (1_795_225_229, "2026-11-21T01:40:29Z"),
            (u64::MAX / 1000, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(rfc3339(Time::from_unix_millis(seconds * 1000)), text);
        }
    }
}
