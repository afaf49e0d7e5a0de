//! Parses field selectors into the terms that a SubjectAccessReview carries.
//! <https://pkg.go.dev/k8s.io/apimachinery/pkg/fields#ParseSelector>

use burst_model::order::sort_by;

/// One requirement of a field selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldTerm {
    pub(crate) field: String,
    /// `true` for `=` and `==`, `false` for `!=`.
    pub(crate) equals: bool,
    pub(crate) value: String,
}

/// The terms in lexical order. Returns `None` if the text is not a field selector.
pub(crate) fn parse(selector: &str) -> Option<Vec<FieldTerm>> {
    let mut terms = split(selector);
    sort_by(&mut terms, Ord::cmp);
    terms.into_iter().filter(|term| !term.is_empty()).map(term).collect()
}

/// Splits at each comma that no backslash escapes.
fn split(selector: &str) -> Vec<&str> {
    let mut is_escaped = false;
    selector
        .split(|c| {
            let is_end = c == ',' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            is_end
        })
        .collect()
}

fn term(term: &str) -> Option<FieldTerm> {
    let (field, value) = term.split_once('=')?;
    let (field, equals) = field.strip_suffix('!').map_or((field, true), |field| (field, false));
    let value = value.strip_prefix('=').filter(|_| equals).unwrap_or(value);
    Some(FieldTerm {
        field: field.to_owned(),
        equals,
        value: unescaped(value)?,
    })
}

fn unescaped(value: &str) -> Option<String> {
    let (mut text, mut chars) = (String::new(), value.chars());
    while let Some(c) = chars.next() {
        match c {
            '\\' => text.push(chars.next().filter(|c| matches!(c, '\\' | ',' | '='))?),
            ',' | '=' => return None,
            c => text.push(c),
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_parsed_as_by_every_api_server() {
        for (selector, terms) in [
            ("", Some(vec![])),
            ("metadata.name=web", Some(vec![("metadata.name", true, "web")])),
            ("b!=1,,a==2", Some(vec![("a", true, "2"), ("b", false, "1")])),
            (r"a=x\,b!\=\=,", Some(vec![("a", true, "x,b!==")])),
            ("a!b=c", Some(vec![("a!b", true, "c")])),
            ("a!==c", None),
            ("a===c", None),
            ("a", None),
            (r"a=\b", None),
            (r"a=b\", None),
        ] {
            let terms = terms.map(|terms| {
                let term = |(field, equals, value): (&str, bool, &str)| FieldTerm {
                    field: field.into(),
                    equals,
                    value: value.into(),
                };
                terms.into_iter().map(term).collect::<Vec<_>>()
            });
            assert_eq!(parse(selector), terms, "{selector}");
        }
    }
}
