//! An answer of the metrics APIs, with the facts about it that the stats need.

use crate::api_version::ApiVersion;
use crate::encoding::Encoding;
use burst_model::serve::LocalReply;
use std::time::Duration;

/// An answer of the metrics APIs.
#[derive(Debug)]
pub struct MetricsResponse {
    /// The answer.
    pub answer: LocalReply,
    /// The API version and the age of the values; `None` if the answer has none.
    pub value_age: Option<(ApiVersion, Duration)>,
}

impl MetricsResponse {
    pub(crate) fn with_values(encoding: Encoding, body: Vec<u8>, api: ApiVersion, age: Duration) -> Self {
        Self {
            answer: LocalReply::new(200, encoding.media_type(), body),
            value_age: Some((api, age)),
        }
    }
}

impl From<LocalReply> for MetricsResponse {
    fn from(answer: LocalReply) -> Self {
        Self {
            answer,
            value_age: None,
        }
    }
}
