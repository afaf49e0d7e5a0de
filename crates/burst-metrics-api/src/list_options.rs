//! The query of a list, by the rules of every Kubernetes API server.

use super::status::StatusError;
use burst_labels::Selector;
use burst_labels::selector::ParseSelectorError;
use std::borrow::Cow;
use std::num::{IntErrorKind, ParseIntError};

/// Each requirement is looked at for each object.
const MOST_REQUIREMENTS: usize = 32;

/// What counts of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ListOptions {
    /// `labelSelector`.
    pub(super) labels: Selector,
    /// `metricLabelSelector`.
    pub(super) metric_labels: Selector,
    /// `metricLabelSelector` as it was written.
    pub(super) metric_labels_text: String,
    /// `fieldSelector`.
    pub(super) fields: String,
    /// `watch`.
    pub(super) watch: bool,
}

pub(super) fn parse(query: &[u8]) -> Result<ListOptions, StatusError> {
    let mut parsed = ListOptions::default();
    let mut seen: Vec<Cow<'_, str>> = Vec::new();
    for (key, value) in form_urlencoded::parse(query) {
        // Of several the first counts; only so many keys are looked at, so there are not many to compare with.
        if seen.contains(&key) || !is_known(&key) {
            continue;
        }
        match &*key {
            "labelSelector" => parsed.labels = selector(&value)?,
            "metricLabelSelector" => {
                parsed.metric_labels = selector(&value)?;
                parsed.metric_labels_text = value.into_owned();
            }
            "fieldSelector" => parsed.fields = fields(value)?,
            "watch" => parsed.watch = value != "0" && !value.eq_ignore_ascii_case("false"),
            _ => integer(&value)?,
        }
        seen.push(key);
    }
    Ok(parsed)
}

fn is_known(key: &str) -> bool {
    const INTEGERS: [&str; 2] = ["limit", "timeoutSeconds"];
    ["labelSelector", "metricLabelSelector", "fieldSelector", "watch"].contains(&key) || INTEGERS.contains(&key)
}

fn selector(text: &str) -> Result<Selector, StatusError> {
    let selector: Selector = text
        .parse()
        .map_err(|error: ParseSelectorError| StatusError::bad_request(error.to_string()))?;
    let count = selector.requirements().len();
    if count > MOST_REQUIREMENTS {
        let message = format!("the selector has {count} requirements; {MOST_REQUIREMENTS} are allowed");
        return Err(StatusError::bad_request(message));
    }
    Ok(selector)
}

/// In Go's words.
fn integer(text: &str) -> Result<(), StatusError> {
    let reason = |error: &ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
        _ => "invalid syntax",
    };
    text.parse::<i64>().map(drop).map_err(|error| {
        let quoted = burst_labels::selector::quoted(text);
        StatusError::bad_request(format!("strconv.ParseInt: parsing {quoted}: {}", reason(&error)))
    })
}

/// Terms with `=`, `==` or `!=`.
fn fields(text: Cow<'_, str>) -> Result<String, StatusError> {
    for term in text.split(',').filter(|term| !term.is_empty()) {
        if !term.contains('=') {
            let message = format!("invalid selector: '{text}'; can't understand '{term}'");
            return Err(StatusError::bad_request(message));
        }
    }
    Ok(text.into_owned())
}

impl ListOptions {
    /// Checks that the fields select what the path names, and nothing else.
    pub(super) fn check_name(&self, name: &str) -> Result<(), StatusError> {
        let mut terms = self.fields.split(',').filter(|term| !term.is_empty()).peekable();
        if terms.peek().is_none() {
            return Ok(());
        }
        let names = |term: &str| {
            let value = term.strip_prefix("metadata.name=")?;
            Some(value.strip_prefix('=').unwrap_or(value) == name)
        };
        if terms.filter_map(names).next() == Some(true) {
            return Ok(());
        }
        Err(StatusError::bad_request(
            "fieldSelector metadata.name doesn't match requested name",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(query: &str) -> Option<String> {
        let refusal = parse(query.as_bytes()).err()?;
        Some(String::from_utf8(refusal.answer().body.to_vec()).unwrap())
    }

    #[test]
    fn what_a_client_may_say_is_taken() {
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
            assert_eq!(message(query), None, "{query}");
        }
        assert_eq!(
            parse(b"labelSelector=a%3Db&labelSelector=c")
                .unwrap()
                .labels
                .to_string(),
            "a=b"
        );
    }

    #[test]
    fn what_it_may_not_is_refused_in_gos_words() {
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
            assert!(
                super::tests::message(query).is_some_and(|body| body.contains(message)),
                "{query}"
            );
        }
    }

    #[test]
    fn a_watch_is_anything_but_no() {
        for (query, watch) in [
            ("", false),
            ("watch=0", false),
            ("watch=FALSE", false),
            ("watch", true),
            ("watch=1", true),
        ] {
            assert_eq!(parse(query.as_bytes()).unwrap().watch, watch, "{query}");
        }
    }

    #[test]
    fn fields_select_the_name_in_the_path_or_nothing() {
        let check = |fields: &str| {
            let query = ListOptions {
                fields: fields.into(),
                ..ListOptions::default()
            };
            query.check_name("web").is_ok()
        };
        for (fields, fits) in [
            ("", true),
            ("metadata.name=web", true),
            ("metadata.name==web", true),
            ("metadata.name=api", false),
            ("metadata.name!=web", false),
            ("status.phase=x", false),
        ] {
            assert_eq!(check(fields), fits, "{fields}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_queries_are_taken_or_refused(query in proptest::collection::vec(any::<u8>(), 0..128)) {
            let _ = parse(&query);
        }
    }
}
