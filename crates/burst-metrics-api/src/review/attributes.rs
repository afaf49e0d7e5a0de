//! What is asked for, in the words of the authorizers. The rules are those that an API server reads every path by, so
//! that a review is about the very thing that a Role is written for.
//! <https://kubernetes.io/docs/reference/access-authn-authz/authorization/#review-your-request-attributes>

use super::options::Options;
use crate::field_selector::FieldTerm;
use crate::status::{StatusDetails, StatusError};
use burst_labels::selector::{Operator, Requirement, quoted};
use percent_encoding::percent_decode;
use serde::Serialize;

/// Below a namespace these are the namespace's own.
const OF_NAMESPACES: [&str; 2] = ["status", "finalize"];
/// Verbs that a path begins with.
const SPECIAL_VERBS: [&str; 2] = ["proxy", "watch"];
const HEALTH: [&str; 3] = ["/healthz", "/livez", "/readyz"];

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AuthorizationAttributes {
    Resource(ResourceAttributes),
    NonResource(NonResourceAttributes),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct NonResourceAttributes {
    path: String,
    verb: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceAttributes {
    #[serde(skip_serializing_if = "String::is_empty")]
    namespace: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    verb: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    group: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    version: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    resource: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    subresource: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    field_selector: Option<SelectorRequirements>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label_selector: Option<SelectorRequirements>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct SelectorRequirements {
    requirements: Vec<SelectorRequirement>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct SelectorRequirement {
    key: String,
    operator: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<String>,
}

impl AuthorizationAttributes {
    /// Of a method and the two halves of `:path`; the path is decoded as a whole, as Go decodes it.
    pub(super) fn of(method: &[u8], path: &[u8], query: &[u8]) -> Result<Self, StatusError> {
        let path = path
            .split(|byte| matches!(byte, b'?' | b'#'))
            .next()
            .unwrap_or_default();
        let path = percent_decode(path).decode_utf8();
        let path = path.map_err(|_| StatusError::bad_request("the path is not UTF-8 after percent-decoding"))?;
        let method = String::from_utf8_lossy(method);
        Ok(ResourceAttributes::of(&method, &path, query).map_or_else(
            || {
                Self::NonResource(NonResourceAttributes {
                    path: path.clone().into_owned(),
                    verb: method.to_ascii_lowercase(),
                })
            },
            Self::Resource,
        ))
    }

    pub(super) fn is_health(&self) -> bool {
        matches!(self, Self::NonResource(NonResourceAttributes { path, .. }) if HEALTH.contains(&path.as_str()))
    }

    /// Who cannot do what.
    pub(super) fn refusal(&self, user: &str) -> String {
        let (about, message) = match self {
            Self::NonResource(NonResourceAttributes { path, verb }) => {
                let message = format!("User {} cannot {verb} path {}", quoted(user), quoted(path));
                (String::new(), message)
            }
            Self::Resource(resource) => (resource.about(), resource.refusal(user)),
        };
        // For whoever shows it as HTML.
        let message = message.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        format!("{about}forbidden: {message}")
    }

    pub(super) fn details(&self) -> StatusDetails {
        match self {
            Self::NonResource(_) => StatusDetails::default(),
            Self::Resource(ResourceAttributes {
                group, resource, name, ..
            }) => StatusDetails {
                name: name.clone(),
                group: group.clone().into(),
                kind: resource.clone(),
            },
        }
    }
}

impl ResourceAttributes {
    /// `None` where the path names no resource.
    fn of(method: &str, path: &str, query: &[u8]) -> Option<Self> {
        let parts: Vec<_> = path.trim_matches('/').split('/').collect();
        let (group, version, below) = match *parts {
            ["apis", group, version, ref below @ ..] => (group, version, below),
            ["api", version, ref below @ ..] => ("", version, below),
            _ => return None,
        };
        let (first, rest) = below.split_first()?;
        let special = SPECIAL_VERBS.contains(first);
        let (verb, below) = if special { (*first, rest) } else { (verb(method), below) };
        let (namespace, parts) = match *below {
            ["namespaces", namespace, resource, ..] if !OF_NAMESPACES.contains(&resource) => {
                (namespace, below.get(2..).unwrap_or_default())
            }
            ["namespaces", namespace, ..] => (namespace, below),
            _ => ("", below),
        };
        let part = |place: usize| parts.get(place).copied().unwrap_or_default().to_owned();
        let mut asked = Self {
            namespace: namespace.into(),
            verb: verb.into(),
            group: group.into(),
            version: version.into(),
            resource: part(0),
            name: part(1),
            subresource: part(2),
            ..Self::default()
        };
        if verb == "proxy" {
            asked.subresource.clear();
        }
        asked.of_many(query, special);
        Some(asked)
    }

    /// What is without a name is for all that a selector selects.
    fn of_many(&mut self, query: &[u8], special: bool) {
        let options = Options::of(query);
        if self.name.is_empty() {
            match self.verb.as_str() {
                "get" => {
                    self.verb = if options.watch { "watch" } else { "list" }.into();
                    self.name = options.name().unwrap_or_default().to_owned();
                }
                "delete" => self.verb = "deletecollection".into(),
                _ => {}
            }
        }
        if !special && ["list", "watch", "deletecollection"].contains(&self.verb.as_str()) {
            let fields = options.fields.into_iter().flatten();
            self.field_selector = SelectorRequirements::of(fields.map(SelectorRequirement::field));
            let labels = options.labels.unwrap_or_default();
            self.label_selector =
                SelectorRequirements::of(labels.requirements().iter().filter_map(SelectorRequirement::label));
        }
    }

    /// `pods.custom.metrics.k8s.io "*" is `.
    fn about(&self) -> String {
        let qualified = match (self.resource.as_str(), self.group.as_str()) {
            ("", _) => return String::new(),
            (resource, "") => resource.to_owned(),
            (resource, group) => format!("{resource}.{group}"),
        };
        match self.name.as_str() {
            "" => format!("{qualified} is "),
            name => format!("{qualified} {} is ", quoted(name)),
        }
    }

    fn refusal(&self, user: &str) -> String {
        let resource = match self.subresource.as_str() {
            "" => self.resource.clone(),
            subresource => format!("{}/{subresource}", self.resource),
        };
        let [user, resource, group, namespace] = [user, &resource, &self.group, &self.namespace].map(quoted);
        let place = if self.namespace.is_empty() {
            "at the cluster scope".to_owned()
        } else {
            format!("in the namespace {namespace}")
        };
        let verb = &self.verb;
        format!("User {user} cannot {verb} resource {resource} in API group {group} {place}")
    }
}

impl SelectorRequirements {
    fn of(wanted: impl Iterator<Item = SelectorRequirement>) -> Option<Self> {
        let requirements: Vec<_> = wanted.collect();
        (!requirements.is_empty()).then_some(Self { requirements })
    }
}

impl SelectorRequirement {
    fn field(FieldTerm { field, equals, value }: FieldTerm) -> Self {
        Self {
            key: field,
            operator: if equals { "In" } else { "NotIn" },
            values: vec![value],
        }
    }

    /// Numbers cannot be told; without them the question is about more, never about less.
    fn label(requirement: &Requirement) -> Option<Self> {
        let operator = match requirement.operator {
            Operator::Equals | Operator::DoubleEquals | Operator::In => "In",
            Operator::NotEquals | Operator::NotIn => "NotIn",
            Operator::Exists => "Exists",
            Operator::DoesNotExist => "DoesNotExist",
            Operator::GreaterThan | Operator::LessThan => return None,
        };
        Some(Self {
            key: requirement.key.to_string(),
            operator,
            values: requirement.values.iter().map(ToString::to_string).collect(),
        })
    }
}

fn verb(method: &str) -> &'static str {
    match method {
        "POST" => "create",
        "GET" | "HEAD" => "get",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" => "delete",
        _ => "",
    }
}
