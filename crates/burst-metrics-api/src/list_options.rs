//! Parses the query of a request: the `ListOptions` of every Kubernetes API server, and `metricLabelSelector`.
//!
//! Two readers use the result and disagree about errors. A SubjectAccessReview leaves out what cannot be parsed, as every
//! API server does. An answer with values reports the first error, so the handler calls [`ListOptions::check`] first.

use crate::field_selector::{self, FieldTerm};
use crate::status::StatusError;
use burst_labels::selector::{ParseSelectorError, quoted};
use burst_labels::{Selector, content};
use std::borrow::Cow;
use std::num::{IntErrorKind, ParseIntError};

/// Each requirement is evaluated for each object.
const MAX_REQUIREMENTS: usize = 32;

/// The parameters of a query. Of several with the same key, the first one counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListOptions {
    /// `labelSelector`; empty if it cannot be parsed.
    pub(crate) label_selector: Selector,
    /// `metricLabelSelector`; empty if it cannot be parsed.
    pub(crate) metric_label_selector: Selector,
    /// `metricLabelSelector` as the client wrote it.
    pub(crate) metric_label_selector_text: String,
    /// `fieldSelector` as the client wrote it.
    field_selector_text: String,
    /// The terms of `fieldSelector`; empty if it cannot be parsed.
    pub(crate) field_terms: Vec<FieldTerm>,
    /// `watch`.
    pub(crate) watch: bool,
    /// Whether an API server can decode the options: the label selector and the numbers are valid.
    is_decodable: bool,
    /// The first error in the order of the query.
    error: Option<StatusError>,
}

impl Default for ListOptions {
    fn default() -> Self {
        Self {
            label_selector: Selector::default(),
            metric_label_selector: Selector::default(),
            metric_label_selector_text: String::new(),
            field_selector_text: String::new(),
            field_terms: Vec::new(),
            watch: false,
            is_decodable: true,
            error: None,
        }
    }
}

impl ListOptions {
    pub(crate) fn parse(query: &[u8]) -> Self {
        let mut options = Self::default();
        let mut seen: Vec<Cow<'_, str>> = Vec::new();
        for (key, value) in form_urlencoded::parse(query) {
            // Only known keys are kept, so there are at most six to compare with.
            if seen.contains(&key) || !is_known(&key) {
                continue;
            }
            if let Err(error) = options.read(&key, value) {
                options.error.get_or_insert(error);
            }
            seen.push(key);
        }
        options
    }

    fn read(&mut self, key: &str, value: Cow<'_, str>) -> Result<(), StatusError> {
        match key {
            "labelSelector" => {
                let parsed = parse_selector(&value);
                self.is_decodable &= parsed.is_ok();
                self.label_selector = parsed?;
                check_requirements(&self.label_selector)
            }
            "metricLabelSelector" => {
                let selector = parse_selector(&value)?;
                check_requirements(&selector)?;
                self.metric_label_selector = selector;
                self.metric_label_selector_text = value.into_owned();
                Ok(())
            }
            "fieldSelector" => {
                self.field_terms = field_selector::parse(&value).unwrap_or_default();
                check_field_selector(&value)?;
                self.field_selector_text = value.into_owned();
                Ok(())
            }
            "watch" => {
                self.watch = value != "0" && !value.eq_ignore_ascii_case("false");
                Ok(())
            }
            _ => {
                let checked = check_integer(&value);
                self.is_decodable &= checked.is_ok();
                checked
            }
        }
    }

    /// Checks what every answer with values needs.
    ///
    /// # Errors
    /// The first parameter that is invalid, in the order of the query.
    pub(crate) fn check(&self) -> Result<(), StatusError> {
        self.error.clone().map_or(Ok(()), Err)
    }

    /// Checks that the field selector selects the object that the path names, and nothing else.
    ///
    /// # Errors
    /// The field selector has terms, and the first one for `metadata.name` does not require this name.
    pub(crate) fn check_name(&self, name: &str) -> Result<(), StatusError> {
        let mut terms = self
            .field_selector_text
            .split(',')
            .filter(|term| !term.is_empty())
            .peekable();
        if terms.peek().is_none() {
            return Ok(());
        }
        let required = terms.find_map(|term| term.strip_prefix("metadata.name="));
        if required.is_some_and(|value| value.strip_prefix('=').unwrap_or(value) == name) {
            return Ok(());
        }
        Err(StatusError::bad_request(
            "fieldSelector metadata.name doesn't match requested name",
        ))
    }

    /// The one object that the field selector selects by name. Returns `None` if the options cannot be decoded.
    pub(crate) fn selected_name(&self) -> Option<&str> {
        if !self.is_decodable {
            return None;
        }
        let mut terms = self.field_terms.iter();
        let term = terms.find(|term| term.equals && term.field == "metadata.name")?;
        Some(term.value.as_str()).filter(|name| content::path_segment(name).is_empty())
    }
}

fn is_known(key: &str) -> bool {
    const INTEGERS: [&str; 2] = ["limit", "timeoutSeconds"];
    ["labelSelector", "metricLabelSelector", "fieldSelector", "watch"].contains(&key) || INTEGERS.contains(&key)
}

fn parse_selector(text: &str) -> Result<Selector, StatusError> {
    text.parse()
        .map_err(|error: ParseSelectorError| StatusError::bad_request(error.to_string()))
}

fn check_requirements(selector: &Selector) -> Result<(), StatusError> {
    let count = selector.requirements().len();
    if count > MAX_REQUIREMENTS {
        let message = format!("the selector has {count} requirements; {MAX_REQUIREMENTS} are allowed");
        return Err(StatusError::bad_request(message));
    }
    Ok(())
}

/// Checks an integer, with the error messages of Go.
fn check_integer(text: &str) -> Result<(), StatusError> {
    text.parse::<i64>().map(drop).map_err(|error| {
        let reason = integer_error(&error);
        StatusError::bad_request(format!("strconv.ParseInt: parsing {}: {reason}", quoted(text)))
    })
}

fn integer_error(error: &ParseIntError) -> &'static str {
    match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
        _ => "invalid syntax",
    }
}

/// Checks that each term has `=`, `==` or `!=`.
fn check_field_selector(text: &str) -> Result<(), StatusError> {
    for term in text.split(',').filter(|term| !term.is_empty()) {
        if !term.contains('=') {
            let message = format!("invalid selector: '{text}'; can't understand '{term}'");
            return Err(StatusError::bad_request(message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::Encoding;
    use proptest::prelude::*;

    fn error_body(query: &str) -> Option<String> {
        let error = ListOptions::parse(query.as_bytes()).check().err()?;
        Some(String::from_utf8(error.to_reply(Encoding::Json).body.to_vec()).unwrap())
    }

    #[test]
    fn valid_and_unknown_parameters_are_accepted() {
        for query in [
            "",
            "&&",
            "limit=500&continue=x&resourceVersion=0&pretty=true",
            "labelSelector=service+in+%28a%2Cb%29",
            "labelSelector=%21a",
            "labelSelector=",
            "timeoutSeconds=5",
            "nonsense=%ff",
        ] {
            assert_eq!(error_body(query), None, "{query}");
        }
        let options = ListOptions::parse(b"labelSelector=a%3Db&labelSelector=c");
        assert_eq!(options.label_selector.to_string(), "a=b", "the first one counts");
    }

    #[test]
    fn errors_have_the_text_of_go() {
        let many = format!("labelSelector={}", vec!["a"; 33].join(","));
        for (query, message) in [
            (
                "labelSelector===a",
                r"found '==', expected: !, identifier, or 'end of string'",
            ),
            ("metricLabelSelector=a/b/c", "unable to parse requirement"),
            ("limit=abc", r#"strconv.ParseInt: parsing \"abc\": invalid syntax"#),
            ("limit=99999999999999999999", "value out of range"),
            ("fieldSelector=a", "invalid selector: 'a'; can't understand 'a'"),
            (&many, "the selector has 33 requirements; 32 are allowed"),
        ] {
            assert!(error_body(query).is_some_and(|body| body.contains(message)), "{query}");
        }
    }

    #[test]
    fn the_first_error_of_the_query_is_reported() {
        for (query, message) in [
            ("limit=x&labelSelector=%3D", "ParseInt"),
            ("labelSelector=%3D&limit=x", "found '='"),
            ("fieldSelector=a&timeoutSeconds=x", "can't understand 'a'"),
        ] {
            assert!(error_body(query).is_some_and(|body| body.contains(message)), "{query}");
        }
    }

    #[test]
    fn watch_is_true_unless_it_is_0_or_false() {
        for (query, watch) in [
            ("", false),
            ("watch=0", false),
            ("watch=FALSE", false),
            ("watch", true),
            ("watch=1", true),
        ] {
            assert_eq!(ListOptions::parse(query.as_bytes()).watch, watch, "{query}");
        }
    }

    #[test]
    fn a_field_selector_may_only_repeat_the_name_in_the_path() {
        for (fields, is_accepted) in [
            ("", true),
            ("metadata.name=web", true),
            ("metadata.name==web", true),
            ("metadata.name=api", false),
            ("metadata.name!=web", false),
            ("metadata.name=web,metadata.name=api", true),
            ("metadata.name=api,metadata.name=web", false),
            ("status.phase=x", false),
        ] {
            let query = form_urlencoded::Serializer::new(String::new())
                .append_pair("fieldSelector", fields)
                .finish();
            let options = ListOptions::parse(query.as_bytes());
            assert_eq!(options.check_name("web").is_ok(), is_accepted, "{fields}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_queries_do_not_panic(query in proptest::collection::vec(any::<u8>(), 0..128)) {
            let _ = ListOptions::parse(&query).check();
        }
    }
}
