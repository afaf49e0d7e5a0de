//! Rules of the configuration: from the names of clusters to Services, literally or by a pattern.

use crate::name::ObjectName;

/// A rule from cluster names to a Service.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MappingRule {
    pattern: Vec<PatternPart>,
    /// The Service, where the pattern does not hold its name.
    service: Option<ObjectName>,
}

/// A piece of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum PatternPart {
    Literal(String),
    Namespace,
    Service,
    Anything,
}

/// Why a rule cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRule {
    /// A pattern without placeholders needs to be told the Service.
    #[error("{0:?} holds no {{namespace}} and {{service}}, so `service: namespace/name` must stand beside it")]
    NoService(String),
    /// A pattern with placeholders must not be told the Service.
    #[error("{0:?} holds {{namespace}} or {{service}}, so no `service` may stand beside it")]
    TwoServices(String),
    /// Both placeholders are needed.
    #[error("{0:?} must hold {{namespace}} and {{service}}, each once")]
    Halves(String),
    /// Two placeholders in a row have no border.
    #[error("{0:?} has two placeholders side by side, and no text to tell where one ends")]
    NoBorder(String),
}

impl MappingRule {
    /// Takes a pattern: literal text, `{namespace}`, `{service}` and `*` for anything.
    ///
    /// # Errors
    /// The pattern does not tell exactly one Service.
    pub fn new(pattern: &str, service: Option<ObjectName>) -> Result<Self, InvalidRule> {
        let parts = parts(pattern);
        let count = |wanted: &PatternPart| parts.iter().filter(|part| *part == wanted).count();
        let is_open = |part: &PatternPart| !matches!(part, PatternPart::Literal(_));
        match (count(&PatternPart::Namespace), count(&PatternPart::Service), &service) {
            (0, 0, None) => Err(InvalidRule::NoService(pattern.into())),
            (0, 0, Some(_)) | (1, 1, None) => Ok(()),
            (_, _, Some(_)) => Err(InvalidRule::TwoServices(pattern.into())),
            (_, _, None) => Err(InvalidRule::Halves(pattern.into())),
        }?;
        if parts
            .iter()
            .zip(parts.iter().skip(1))
            .any(|(a, b)| is_open(a) && is_open(b))
        {
            return Err(InvalidRule::NoBorder(pattern.into()));
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
        ("*", PatternPart::Anything),
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

/// Whether the parts cover the text. An open part reaches to the first place where the literal behind it stands, or
/// to the end: names have few parts and no need for more.
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
        PatternPart::Anything | PatternPart::Literal(_) => {}
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
    fn a_rule_tells_exactly_one_service() {
        let shop = || ObjectName::parse("shop/web").ok();
        for (pattern, service, message) in [
            ("web", None, "holds no {namespace}"),
            ("{service}", None, "must hold {namespace} and {service}"),
            ("{service}.{namespace}", shop(), "so no `service` may stand beside it"),
            ("{service}{namespace}", None, "two placeholders side by side"),
        ] {
            let error = MappingRule::new(pattern, service).unwrap_err().to_string();
            assert!(error.contains(message), "{pattern}: {error}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_names_and_patterns_are_survived(pattern in ".{0,20}", cluster in ".{0,40}") {
            for pattern in [&pattern, "*-{service}|{namespace}*x"] {
                let _ = MappingRule::new(pattern, None).map(|rule| rule.service_of(&cluster));
            }
        }
    }
}
