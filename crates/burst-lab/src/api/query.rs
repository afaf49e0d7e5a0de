//! The query of a list request: <https://kubernetes.io/docs/reference/kubernetes-api/common-parameters/common-parameters/>

use std::time::Duration;

use burst_labels::Selector;
use serde_json::Value;

use super::field_selector::FieldSelector;
use super::status::Status;

/// A real server ends a watch without a timeout after 30 to 60 minutes.
const DEFAULT_WATCH_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// The parameters of a request. Others are ignored, as on a real server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Query {
    /// The largest number of objects; `None` is all.
    pub(super) limit: Option<usize>,
    /// `continue`.
    pub(super) continue_token: Option<String>,
    pub(super) labels: Selector,
    pub(super) fields: FieldSelector,
    pub(super) watch: bool,
    /// `resourceVersion` at which a watch starts; `None` or 0 starts with the current objects.
    pub(super) resource_version: Option<u64>,
    /// `resourceVersionMatch`; empty if it is missing.
    pub(super) resource_version_match: String,
    /// `sendInitialEvents` of a watch.
    pub(super) send_initial_events: Option<bool>,
    /// `timeoutSeconds` of a watch.
    pub(super) timeout: Duration,
    /// `allowWatchBookmarks`.
    pub(super) bookmarks: bool,
    pub(super) pretty: bool,
}

impl Query {
    pub(super) fn parse(text: &str) -> Result<Self, Status> {
        let mut query = Query {
            timeout: DEFAULT_WATCH_TIMEOUT,
            ..Query::default()
        };
        for (key, value) in form_urlencoded::parse(text.as_bytes()) {
            match key.as_ref() {
                "limit" => query.limit = limit(&value)?,
                "continue" => {
                    query.continue_token = Some(value.into_owned()).filter(|token| !token.is_empty());
                }
                "labelSelector" => query.labels = label_selector(&value)?,
                "fieldSelector" => query.fields = FieldSelector::parse(&value).map_err(Status::bad_request)?,
                "watch" => query.watch = boolean(&value),
                "resourceVersion" => query.resource_version = resource_version(&value)?,
                "resourceVersionMatch" => query.resource_version_match = value.into_owned(),
                "sendInitialEvents" => query.send_initial_events = Some(boolean(&value)),
                "timeoutSeconds" => query.timeout = timeout(&value)?,
                "allowWatchBookmarks" => query.bookmarks = boolean(&value),
                "pretty" => query.pretty = boolean(&value),
                _ => {}
            }
        }
        Ok(query)
    }

    /// Returns whether a label or field selector is set.
    pub(super) fn selects(&self) -> bool {
        !self.labels.is_empty() || !self.fields.is_empty()
    }

    /// Returns whether an object matches both selectors.
    pub(super) fn matches(&self, object: &Value) -> bool {
        let labels = object.pointer("/metadata/labels");
        let label = |key: &str| labels?.get(key)?.as_str();
        self.labels.matches(label) && self.fields.matches(object)
    }
}

fn label_selector(text: &str) -> Result<Selector, Status> {
    text.parse()
        .map_err(|error: burst_labels::selector::ParseSelectorError| Status::bad_request(error.to_string()))
}

/// Zero and less mean no limit.
fn limit(text: &str) -> Result<Option<usize>, Status> {
    Ok(usize::try_from(number(text)?).ok().filter(|limit| *limit > 0))
}

/// Zero is the default.
fn timeout(text: &str) -> Result<Duration, Status> {
    let seconds = u64::try_from(number(text)?).unwrap_or(0);
    Ok(Some(Duration::from_secs(seconds))
        .filter(|timeout| !timeout.is_zero())
        .unwrap_or(DEFAULT_WATCH_TIMEOUT))
}

fn number(text: &str) -> Result<i64, Status> {
    text.parse()
        .map_err(|_| Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax")))
}

fn resource_version(text: &str) -> Result<Option<u64>, Status> {
    if text.is_empty() {
        return Ok(None);
    }
    let version: u64 = text
        .parse()
        .map_err(|_| Status::bad_request(format!("resourceVersion: Invalid value: {text:?}")))?;
    Ok(Some(version))
}

fn boolean(text: &str) -> bool {
    !matches!(text, "0" | "false" | "False" | "FALSE")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_parameters_are_read() {
        let query = Query::parse("limit=2&continue=abc&labelSelector=app%3Dweb&watch=0&pretty=true&other=x").unwrap();
        assert_eq!(
            (query.limit, query.continue_token.as_deref(), query.watch, query.pretty),
            (Some(2), Some("abc"), false, true)
        );
        assert!(query.selects());
        assert!(!Query::parse("").unwrap().selects());
    }

    #[test]
    fn an_invalid_label_selector_is_a_bad_request_with_the_message_of_a_real_server() {
        for (text, message) in [
            (
                "a b",
                "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
            ),
            ("n in (1", "unable to parse requirement: found '', expected: ',' or ')'"),
        ] {
            let query: String = form_urlencoded::Serializer::new(String::new())
                .append_pair("labelSelector", text)
                .finish();
            assert_eq!(Query::parse(&query), Err(Status::bad_request(message)), "{text}");
        }
    }

    #[test]
    fn a_limit_of_zero_or_less_is_none_and_a_word_is_refused() {
        assert_eq!(Query::parse("limit=0").unwrap().limit, None);
        assert_eq!(Query::parse("limit=-1").unwrap().limit, None);
        assert_eq!(Query::parse("limit=x").unwrap_err().code(), 400);
    }
}
