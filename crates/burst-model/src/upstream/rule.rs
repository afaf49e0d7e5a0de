//! Rules of the configuration that map cluster names to Services, literally or by a pattern.

use crate::name::ObjectName;

/// A rule that maps cluster names to a Service.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MappingRule {
    pattern: Vec<PatternPart>,
    /// The Service, if the pattern has no placeholders for its name.
    service: Option<ObjectName>,
}

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum PatternPart {
    Literal(String),
    Namespace,
    Service,
    Wildcard,
}

/// Why a rule is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRule {
    /// The pattern has no placeholders, and the rule names no Service.
    #[error("{0:?} has no {{namespace}} and {{service}}, so the rule needs `service: namespace/name`")]
    MissingService(String),
    /// The pattern has placeholders, and the rule names a Service too.
    #[error("{0:?} has {{namespace}} or {{service}}, so the rule must not have `service`")]
    RedundantService(String),
    /// The pattern does not have each placeholder once.
    #[error("{0:?} must have {{namespace}} and {{service}}, each once")]
    IncompletePlaceholders(String),
    /// Two placeholders follow each other without text in between.
    #[error("{0:?} has two placeholders side by side, without text between them")]
    AdjacentPlaceholders(String),
}

impl MappingRule {
    /// Parses a pattern of literal text, `{namespace}`, `{service}` and `*` for any text.
    ///
    /// # Errors
    /// The rule does not determine exactly one Service.
    pub fn new(pattern: &str, service: Option<ObjectName>) -> Result<Self, InvalidRule> {
        let parts = parts(pattern);
        let count = |wanted: &PatternPart| parts.iter().filter(|part| *part == wanted).count();
        let is_open = |part: &PatternPart| !matches!(part, PatternPart::Literal(_));
        match (count(&PatternPart::Namespace), count(&PatternPart::Service), &service) {
            (0, 0, None) => Err(InvalidRule::MissingService(pattern.into())),
            (0, 0, Some(_)) | (1, 1, None) => Ok(()),
            (_, _, Some(_)) => Err(InvalidRule::RedundantService(pattern.into())),
            (_, _, None) => Err(InvalidRule::IncompletePlaceholders(pattern.into())),
        }?;
        if parts
            .iter()
            .zip(parts.iter().skip(1))
            .any(|(a, b)| is_open(a) && is_open(b))
        {
            return Err(InvalidRule::AdjacentPlaceholders(pattern.into()));
        }
        Ok(Self {
            pattern: parts,
            service,
        })
    }

    pub(super) fn service_of(&self, cluster: &str) -> Option<ObjectName> {
        let mut found = Captures::default();
        if !matches(&self.pattern, cluster, &mut found) {
            return None;
        }
        self.service
            .clone()
            .or_else(|| ObjectName::new(found.namespace?, found.service?).ok())
    }
}

fn parts(pattern: &str) -> Vec<PatternPart> {
    let placeholders = [
        ("{namespace}", PatternPart::Namespace),
        ("{service}", PatternPart::Service),
        ("*", PatternPart::Wildcard),
    ];
    let mut parts = Vec::new();
    let mut rest = pattern;
    while !rest.is_empty() {
        let next = placeholders
            .iter()
            .filter_map(|(text, part)| Some((rest.find(text)?, text, part)));
        let Some((at, text, part)) = next.min_by_key(|(at, ..)| *at) else {
            parts.push(PatternPart::Literal(rest.into()));
            break;
        };
        let (literal, tail) = rest.split_at(at);
        if !literal.is_empty() {
            parts.push(PatternPart::Literal(literal.into()));
        }
        parts.push(part.clone());
        rest = tail.strip_prefix(text).unwrap_or_default();
    }
    parts
}

#[derive(Default)]
struct Captures<'a> {
    namespace: Option<&'a str>,
    service: Option<&'a str>,
}

/// Returns whether the parts match the whole text. A placeholder matches up to the first occurrence of the literal after
/// it, or up to the end. There is no backtracking, because cluster names do not need it.
fn matches<'a>(parts: &[PatternPart], text: &'a str, found: &mut Captures<'a>) -> bool {
    let Some((part, parts)) = parts.split_first() else {
        return text.is_empty();
    };
    if let PatternPart::Literal(literal) = part {
        return text
            .strip_prefix(literal.as_str())
            .is_some_and(|rest| matches(parts, rest, found));
    }
    let end = match parts.split_first() {
        Some((PatternPart::Literal(literal), [])) => text.len().checked_sub(literal.len()),
        Some((PatternPart::Literal(literal), _)) => text.find(literal.as_str()),
        _ => Some(text.len()),
    };
    let Some((open, rest)) = end.and_then(|end| text.split_at_checked(end)) else {
        return false;
    };
    match part {
        PatternPart::Namespace => found.namespace = Some(open),
        PatternPart::Service => found.service = Some(open),
        PatternPart::Wildcard | PatternPart::Literal(_) => {}
    }
    matches(parts, rest, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn patterns_find_names_between_literals() {
        let rule = |pattern, service: Option<&str>| {
            MappingRule::new(pattern, service.map(|service| ObjectName::parse(service).unwrap())).unwrap()
        };
        let rules = [
            rule("web", Some("shop/web")),
            rule("httproute/{namespace}/{service}/rule/*", None),
            rule("{service}.{namespace}", None),
        ];
        for (cluster, found) in [
            ("web", Some("shop/web")),
            ("httproute/shop/api/rule/0", Some("shop/api")),
            ("api.shop", Some("shop/api")),
            ("webx", None),
            ("httproute/shop/api/rule", None),
            ("UPPER.shop", None),
        ] {
            let service = rules.iter().find_map(|rule| rule.service_of(cluster));
            assert_eq!(service.map(|name| name.to_string()).as_deref(), found, "{cluster}");
        }
    }

    #[test]
    fn a_rule_determines_exactly_one_service() {
        let shop = || ObjectName::parse("shop/web").ok();
        for (pattern, service, message) in [
            ("web", None, "has no {namespace}"),
            ("{service}", None, "must have {namespace} and {service}"),
            ("{service}.{namespace}", shop(), "so the rule must not have `service`"),
            ("{service}{namespace}", None, "two placeholders side by side"),
        ] {
            let error = MappingRule::new(pattern, service).unwrap_err().to_string();
            assert!(error.contains(message), "{pattern}: {error}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_names_and_patterns_do_not_panic(pattern in ".{0,20}", cluster in ".{0,40}") {
            for pattern in [&pattern, "*-{service}|{namespace}*x"] {
                let _ = MappingRule::new(pattern, None).map(|rule| rule.service_of(&cluster));
            }
        }
    }
}
