//! The query of a list request: <https://kubernetes.io/docs/reference/kubernetes-api/common-parameters/common-parameters/>

use super::selector::{FieldSelector, LabelSelector};
use super::status::Status;

/// What is asked for. Parameters that are not named here are ignored, as a real server ignores unknown ones.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Query {
    /// At most so many objects; none is all of them.
    pub(super) limit: Option<usize>,
    /// `continue`.
    pub(super) token: Option<String>,
    pub(super) labels: LabelSelector,
    pub(super) fields: FieldSelector,
    pub(super) watch: bool,
    pub(super) pretty: bool,
}

impl Query {
    pub(super) fn parse(text: &str) -> Result<Self, Status> {
        let mut query = Query::default();
        for (key, value) in form_urlencoded::parse(text.as_bytes()) {
            match key.as_ref() {
                "limit" => query.limit = limit(&value)?,
                "continue" => query.token = Some(value.into_owned()).filter(|token| !token.is_empty()),
                "labelSelector" => query.labels = LabelSelector::parse(&value).map_err(Status::bad_request)?,
                "fieldSelector" => query.fields = FieldSelector::parse(&value).map_err(Status::bad_request)?,
                "watch" => query.watch = truth(&value),
                "pretty" => query.pretty = truth(&value),
                _ => {}
            }
        }
        Ok(query)
    }

    /// Whether objects are left out by what they are rather than by the page's size.
    pub(super) fn selects(&self) -> bool {
        !self.labels.is_empty() || !self.fields.is_empty()
    }
}

/// Zero and less mean no limit.
fn limit(text: &str) -> Result<Option<usize>, Status> {
    let number: i64 = text
        .parse()
        .map_err(|_| Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax")))?;
    Ok(usize::try_from(number).ok().filter(|limit| *limit > 0))
}

fn truth(text: &str) -> bool {
    !matches!(text, "0" | "false" | "False" | "FALSE")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_parameters_are_read() {
        let query = Query::parse("limit=2&continue=abc&labelSelector=app%3Dweb&watch=0&pretty=true&other=x").unwrap();
        assert_eq!(
            (query.limit, query.token.as_deref(), query.watch, query.pretty),
            (Some(2), Some("abc"), false, true)
        );
        assert!(query.selects());
        assert_eq!(Query::parse("").unwrap(), Query::default());
    }

    #[test]
    fn a_limit_of_zero_or_less_is_none_and_a_word_is_refused() {
        assert_eq!(Query::parse("limit=0").unwrap().limit, None);
        assert_eq!(Query::parse("limit=-1").unwrap().limit, None);
        assert_eq!(Query::parse("limit=x").unwrap_err().code(), 400);
    }
}
