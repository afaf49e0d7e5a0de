//! Which Service an Envoy cluster stands for.
//!
//! Three sources, the most explicit first: rules of the configuration (plain Envoy, Envoy Gateway), the metadata that
//! Istio puts on its clusters, and the names Istio gives them.
//! <https://github.com/istio/istio/blob/master/pilot/pkg/model/service.go> (`BuildSubsetKey`)

use crate::name::ObjectName;

/// The rules of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstreams {
    rules: Vec<Rule>,
    /// `svc.<cluster domain>`, between dots.
    suffix: String,
}

/// A rule from cluster names to a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pattern: Vec<Part>,
    /// The Service, where the pattern does not hold its name.
    service: Option<ObjectName>,
}

/// A piece of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    Namespace,
    Service,
    Anything,
}

/// Why a rule cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRule {
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

impl Rule {
    /// Takes a pattern: literal text, `{namespace}`, `{service}` and `*` for anything.
    ///
    /// # Errors
    /// The pattern does not tell exactly one Service.
    pub fn new(pattern: &str, service: Option<ObjectName>) -> Result<Self, BadRule> {
        let parts = parts(pattern);
        let count = |wanted: &Part| parts.iter().filter(|part| *part == wanted).count();
        let is_open = |part: &Part| !matches!(part, Part::Literal(_));
        match (count(&Part::Namespace), count(&Part::Service), &service) {
            (0, 0, None) => Err(BadRule::NoService(pattern.into())),
            (0, 0, Some(_)) | (1, 1, None) => Ok(()),
            (_, _, Some(_)) => Err(BadRule::TwoServices(pattern.into())),
            (_, _, None) => Err(BadRule::Halves(pattern.into())),
        }?;
        if parts
            .iter()
            .zip(parts.iter().skip(1))
            .any(|(a, b)| is_open(a) && is_open(b))
        {
            return Err(BadRule::NoBorder(pattern.into()));
        }
        Ok(Self {
            pattern: parts,
            service,
        })
    }

    fn service_of(&self, cluster: &str) -> Option<ObjectName> {
        let mut found = Found::default();
        if !matches(&self.pattern, cluster, &mut found) {
            return None;
        }
        self.service
            .clone()
            .or_else(|| ObjectName::new(found.namespace?, found.service?).ok())
    }
}

fn parts(pattern: &str) -> Vec<Part> {
    let placeholders = [
        ("{namespace}", Part::Namespace),
        ("{service}", Part::Service),
        ("*", Part::Anything),
    ];
    let mut parts = Vec::new();
    let mut rest = pattern;
    while !rest.is_empty() {
        let next = placeholders
            .iter()
            .filter_map(|(text, part)| Some((rest.find(text)?, text, part)));
        let Some((at, text, part)) = next.min_by_key(|(at, ..)| *at) else {
            parts.push(Part::Literal(rest.into()));
            break;
        };
        let (literal, tail) = rest.split_at(at);
        if !literal.is_empty() {
            parts.push(Part::Literal(literal.into()));
        }
        parts.push(part.clone());
        rest = tail.strip_prefix(text).unwrap_or_default();
    }
    parts
}

#[derive(Default)]
struct Found<'a> {
    namespace: Option<&'a str>,
    service: Option<&'a str>,
}

/// Whether the parts cover the text. An open part reaches to the first place where the literal behind it stands, or
/// to the end: names have few parts and no need for more.
fn matches<'a>(parts: &[Part], text: &'a str, found: &mut Found<'a>) -> bool {
    let Some((part, parts)) = parts.split_first() else {
        return text.is_empty();
    };
    if let Part::Literal(literal) = part {
        return text
            .strip_prefix(literal.as_str())
            .is_some_and(|rest| matches(parts, rest, found));
    }
    let end = match parts.split_first() {
        Some((Part::Literal(literal), [])) => text.len().checked_sub(literal.len()),
        Some((Part::Literal(literal), _)) => text.find(literal.as_str()),
        _ => Some(text.len()),
    };
    let Some((open, rest)) = end.and_then(|end| text.split_at_checked(end)) else {
        return false;
    };
    match part {
        Part::Namespace => found.namespace = Some(open),
        Part::Service => found.service = Some(open),
        Part::Anything | Part::Literal(_) => {}
    }
    matches(parts, rest, found)
}

impl Upstreams {
    /// These rules, in a cluster of that domain (`cluster.local`).
    #[must_use]
    pub fn new(rules: Vec<Rule>, cluster_domain: &str) -> Self {
        Self {
            rules,
            suffix: format!(".svc.{cluster_domain}"),
        }
    }

    /// The Service of a cluster. `metadata` is asked for Istio's `services[0]` (namespace, name) where no rule
    /// matches: reading it costs two host calls.
    #[must_use]
    pub fn service(&self, cluster: &[u8], metadata: impl FnOnce() -> Option<(String, String)>) -> Option<ObjectName> {
        let cluster = std::str::from_utf8(cluster).ok()?;
        let by_rule = || self.rules.iter().find_map(|rule| rule.service_of(cluster));
        let by_metadata = || metadata().and_then(|(namespace, name)| ObjectName::new(&namespace, &name).ok());
        by_rule().or_else(by_metadata).or_else(|| self.by_istio_name(cluster))
    }

    /// `outbound|80|subset|host`, and `outbound_.80_._.host` as an SNI writes it.
    fn by_istio_name(&self, cluster: &str) -> Option<ObjectName> {
        let host = match cluster.strip_prefix("outbound|") {
            Some(rest) => rest.splitn(3, '|').nth(2),
            None => cluster
                .strip_prefix("outbound_.")
                .and_then(|rest| rest.splitn(3, "_.").nth(2)),
        }?;
        let (name, namespace) = host.strip_suffix(self.suffix.as_str())?.split_once('.')?;
        ObjectName::new(namespace, name)
            .ok()
            .filter(|_| !namespace.contains('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn upstreams(rules: &[(&str, Option<&str>)]) -> Upstreams {
        let rule = |(pattern, service): &(&str, Option<&str>)| {
            Rule::new(pattern, service.map(|service| ObjectName::parse(service).unwrap())).unwrap()
        };
        Upstreams::new(rules.iter().map(rule).collect(), "cluster.local")
    }

    fn service(upstreams: &Upstreams, cluster: &str) -> Option<String> {
        upstreams
            .service(cluster.as_bytes(), || None)
            .map(|name| name.to_string())
    }

    #[test]
    fn istios_names_tell_the_service() {
        let none = upstreams(&[]);
        for (cluster, found) in [
            ("outbound|80||web.shop.svc.cluster.local", Some("shop/web")),
            ("outbound|80|v1|web.shop.svc.cluster.local", Some("shop/web")),
            ("outbound_.80_._.web.shop.svc.cluster.local", Some("shop/web")),
            ("outbound_.80_.v1_.web.shop.svc.cluster.local", Some("shop/web")),
            ("outbound|80||web.shop.svc.example.org", None),
            ("outbound|443||api.example.org", None),
            ("outbound|80||web.svc.cluster.local", None),
            ("outbound|80||a.web.shop.svc.cluster.local", None),
            ("inbound|8080||", None),
            ("PassthroughCluster", None),
            ("outbound|", None),
            ("", None),
        ] {
            assert_eq!(service(&none, cluster).as_deref(), found, "{cluster}");
        }
    }

    #[test]
    fn metadata_comes_before_the_name_and_rules_before_both() {
        let metadata = || Some(("shop".to_owned(), "real".to_owned()));
        let cluster = b"outbound|80||alias.other.svc.cluster.local";
        let found = |upstreams: &Upstreams| upstreams.service(cluster, metadata).unwrap().to_string();
        assert_eq!(found(&upstreams(&[])), "shop/real");
        assert_eq!(
            found(&upstreams(&[("outbound|80||alias*", Some("rules/first"))])),
            "rules/first"
        );
    }

    #[test]
    fn patterns_find_names_between_literals() {
        let rules = upstreams(&[
            ("web", Some("shop/web")),
            ("httproute/{namespace}/{service}/rule/*", None),
            ("{service}.{namespace}", None),
        ]);
        for (cluster, found) in [
            ("web", Some("shop/web")),
            ("httproute/shop/api/rule/0", Some("shop/api")),
            ("api.shop", Some("shop/api")),
            ("webx", None),
            ("httproute/shop/api/rule", None),
            ("UPPER.shop", None),
        ] {
            assert_eq!(service(&rules, cluster).as_deref(), found, "{cluster}");
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
            let error = Rule::new(pattern, service).unwrap_err().to_string();
            assert!(error.contains(message), "{pattern}: {error}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_names_and_patterns_are_survived(pattern in ".{0,20}", cluster in ".{0,40}") {
            let patterns = [pattern, "*-{service}|{namespace}*x".into()];
            let rules = patterns.iter().filter_map(|pattern| Rule::new(pattern, None).ok()).collect();
            let _ = Upstreams::new(rules, "cluster.local").service(cluster.as_bytes(), || None);
        }
    }
}
