//! Writes the bodies that carry values: a list of the API's own kind, or a `Table` for kubectl.

use crate::accept::{ResponseFormat, Transform};
use crate::api_version::ApiVersion;
use crate::encoding::{ListBody, TypeMeta};
use crate::metric_values::MetricValues;
use crate::objects::{ListMeta, TableColumn, Timestamp};
use crate::response::MetricsResponse;
use burst_model::time::Time;
use std::time::Duration;

/// The facts that all items of a body share.
#[derive(Debug)]
pub(crate) struct ValueListMeta {
    pub(crate) api: ApiVersion,
    format: ResponseFormat,
    /// When the values were read.
    as_of: Time,
    /// The time over which values are averaged, in seconds.
    pub(crate) window: Option<i64>,
    /// How old the values are.
    pub(crate) age: Duration,
}

impl ValueListMeta {
    pub(crate) fn new(api: ApiVersion, format: ResponseFormat, values: &MetricValues<'_>, now: Time) -> Self {
        Self {
            api,
            format,
            as_of: values.as_of,
            window: values.window.and_then(|window| i64::try_from(window.as_secs()).ok()),
            age: now.since(values.as_of),
        }
    }

    /// For an empty list.
    pub(crate) fn without_values(api: ApiVersion, format: ResponseFormat, now: Time) -> Self {
        Self {
            api,
            format,
            as_of: now,
            window: None,
            age: Duration::ZERO,
        }
    }

    pub(crate) fn timestamp(&self) -> Timestamp {
        Timestamp::of(self.as_of)
    }

    pub(crate) fn is_table(&self) -> bool {
        matches!(self.format.transform, Transform::Table(_))
    }

    /// The answer with the items that `write` appends, about this many. `columns` are those of a `Table`.
    pub(crate) fn respond(
        &self,
        columns: &[&'static str],
        items: usize,
        write: impl FnOnce(&mut ListBody<'_>),
    ) -> MetricsResponse {
        let encoding = self.format.encoding;
        let metadata = ListMeta {
            // In milliseconds since 1970: a version that increases with each read.
            resource_version: self.as_of.unix_millis().to_string(),
        };
        let body = match self.format.transform {
            Transform::Table(version) => {
                let api_version = format!("meta.k8s.io/{version}");
                let columns: Vec<_> = columns.iter().copied().map(column).collect();
                let type_meta = TypeMeta::new("Table", &api_version);
                let mut body = ListBody::table(encoding, type_meta, &metadata, &columns, items);
                write(&mut body);
                body.finish()
            }
            Transform::None | Transform::Aggregated(_) => {
                let api_version = self.api.group_version();
                let type_meta = TypeMeta::new(self.api.list_kind(), &api_version);
                let mut body = ListBody::new(encoding, type_meta, &metadata, items);
                write(&mut body);
                body.finish()
            }
        };
        MetricsResponse::with_values(encoding, body, self.api, self.age)
    }
}

fn column(name: &'static str) -> TableColumn {
    let (format, description) = match name {
        "Name" => ("name", "the object or namespace that the value is about"),
        "Value" => ("", "the value, as a quantity"),
        "Labels" => ("", "the labels of the series"),
        _ => ("", "time since the value was read"),
    };
    TableColumn {
        name,
        value_type: "string",
        format,
        description,
        priority: 0,
    }
}
