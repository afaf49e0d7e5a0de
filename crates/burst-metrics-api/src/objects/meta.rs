//! The parts that objects of several kinds have.
//! <https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/apis/meta/v1/generated.proto>

use crate::milli_value::MilliValue;
use humantime::format_rfc3339_seconds;
use prost::Message;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};

/// `ListMeta`.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListMeta {
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) resource_version: String,
}

/// `ObjectMeta`. Discovery has a `creationTimestamp` that is always null.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ObjectMeta {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "3")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) namespace: String,
    #[prost(message, optional, tag = "8")]
    pub(crate) creation_timestamp: Option<Timestamp>,
}

/// `Time`: a time in UTC, to the second.
#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct Timestamp {
    #[prost(int64, tag = "1")]
    pub(crate) seconds: i64,
}

impl Timestamp {
    /// RFC 3339 has no years with more than four digits, so a later time becomes the last one.
    const LAST_SECOND: u64 = 253_402_300_799;

    pub(crate) fn of(time: burst_model::time::Time) -> Self {
        let seconds = time.unix_seconds().min(Self::LAST_SECOND);
        Self {
            seconds: i64::try_from(seconds).unwrap_or_default(),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let seconds = Duration::from_secs(self.seconds.unsigned_abs().min(Self::LAST_SECOND));
        serializer.collect_str(&format_rfc3339_seconds(UNIX_EPOCH + seconds))
    }
}

/// `Quantity`, in its canonical form.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(transparent)]
pub(crate) struct Quantity {
    #[prost(string, tag = "1")]
    pub(crate) text: String,
}

impl Quantity {
    pub(crate) fn set(&mut self, value: MilliValue) {
        self.text.clear();
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{value}");
    }
}

/// `ObjectReference` of the core group.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ObjectReference {
    #[prost(string, tag = "1")]
    pub(crate) kind: String,
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) namespace: String,
    #[prost(string, tag = "3")]
    pub(crate) name: String,
    #[prost(string, tag = "5")]
    pub(crate) api_version: String,
}

/// `LabelSelector`.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LabelSelector {
    #[prost(btree_map = "string, string", tag = "1")]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) match_labels: BTreeMap<String, String>,
    #[prost(message, repeated, tag = "2")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) match_expressions: Vec<LabelSelectorRequirement>,
}

/// `LabelSelectorRequirement`.
#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct LabelSelectorRequirement {
    #[prost(string, tag = "1")]
    pub(crate) key: String,
    #[prost(string, tag = "2")]
    pub(crate) operator: String,
    #[prost(string, repeated, tag = "3")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) values: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use burst_model::time::Time;

    #[test]
    fn every_time_has_a_timestamp() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (1_795_225_229, "2026-11-21T01:40:29Z"),
            (u64::MAX / 1000, "9999-12-31T23:59:59Z"),
        ] {
            let timestamp = Timestamp::of(Time::from_unix_millis(seconds * 1000));
            assert_eq!(serde_json::to_value(timestamp).unwrap(), text);
        }
    }
}
