//! The attributes of a request that authorizers decide about.
//!
//! The rules are those by which every API server reads a path, so that a review is about exactly what a Role grants.
//! <https://kubernetes.io/docs/reference/access-authn-authz/authorization/#review-your-request-attributes>

use crate::field_selector::FieldTerm;
use crate::list_options::ListOptions;
use crate::objects::StatusDetails;
use crate::request::MetricsRequest;
use burst_labels::selector::{Operator, Requirement, quoted};
use serde::Serialize;

/// Below a namespace, these are subresources of the namespace itself.
const NAMESPACE_SUBRESOURCES: [&str; 2] = ["status", "finalize"];
/// Verbs that a path can start with, after the version.
const PATH_VERBS: [&str; 2] = ["proxy", "watch"];
const HEALTH_PATHS: [&str; 3] = ["/healthz", "/livez", "/readyz"];

/// The attributes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AuthorizationAttributes<'a> {
    Resource(ResourceAttributes<'a>),
    NonResource(NonResourceAttributes<'a>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct NonResourceAttributes<'a> {
    path: &'a str,
    verb: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceAttributes<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    verb: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    group: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    version: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    resource: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    subresource: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    field_selector: Option<SelectorAttributes<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label_selector: Option<SelectorAttributes<'a>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct SelectorAttributes<'a> {
    requirements: Vec<SelectorRequirement<'a>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct SelectorRequirement<'a> {
    key: &'a str,
    operator: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<&'a str>,
}

impl<'a> AuthorizationAttributes<'a> {
    pub(super) fn of(request: &'a MetricsRequest) -> Self {
        ResourceAttributes::of(request).map_or_else(
            || {
                Self::NonResource(NonResourceAttributes {
                    path: &request.path.decoded,
                    verb: request.method.to_ascii_lowercase(),
                })
            },
            Self::Resource,
        )
    }

    pub(super) fn is_health(&self) -> bool {
        matches!(self, Self::NonResource(NonResourceAttributes { path, .. }) if HEALTH_PATHS.contains(path))
    }

    /// The message for a user without permission. It is that of Kubernetes.
    pub(super) fn forbidden_message(&self, user: &str) -> String {
        let (subject, reason) = match self {
            Self::NonResource(NonResourceAttributes { path, verb }) => {
                let reason = format!("User {} cannot {verb} path {}", quoted(user), quoted(path));
                (String::new(), reason)
            }
            Self::Resource(resource) => (resource.forbidden_subject(), resource.forbidden_reason(user)),
        };
        // Kubernetes escapes this part for clients that show it as HTML.
        let reason = reason.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        format!("{subject}forbidden: {reason}")
    }

    pub(super) fn details(&self) -> StatusDetails {
        match self {
            Self::NonResource(_) => StatusDetails::default(),
            Self::Resource(attributes) => StatusDetails {
                name: attributes.name.to_owned(),
                group: attributes.group.to_owned(),
                kind: attributes.resource.to_owned(),
                ..StatusDetails::default()
            },
        }
    }
}

impl<'a> ResourceAttributes<'a> {
    /// Returns `None` if the path names no resource.
    fn of(request: &'a MetricsRequest) -> Option<Self> {
        let segments: Vec<&str> = request.path.decoded.trim_matches('/').split('/').collect();
        let (group, version, below) = match *segments {
            ["apis", group, version, ref below @ ..] => (group, version, below),
            ["api", version, ref below @ ..] => ("", version, below),
            _ => return None,
        };
        let (first, rest) = below.split_first()?;
        let has_path_verb = PATH_VERBS.contains(first);
        let (verb, below) = if has_path_verb {
            (*first, rest)
        } else {
            (method_verb(&request.method), below)
        };
        let (namespace, parts) = match *below {
            ["namespaces", namespace, resource, ..] if !NAMESPACE_SUBRESOURCES.contains(&resource) => {
                (namespace, below.get(2..).unwrap_or_default())
            }
            ["namespaces", namespace, ..] => (namespace, below),
            _ => ("", below),
        };
        let mut parts = parts.iter().copied();
        let [resource, name, subresource] = [(); 3].map(|()| parts.next().unwrap_or_default());
        let mut attributes = Self {
            namespace,
            verb,
            group,
            version,
            resource,
            name,
            subresource: if verb == "proxy" { "" } else { subresource },
            ..Self::default()
        };
        attributes.apply_options(&request.options, has_path_verb);
        Some(attributes)
    }

    /// A request without a name is for all objects that the options select.
    fn apply_options(&mut self, options: &'a ListOptions, has_path_verb: bool) {
        if self.name.is_empty() {
            match self.verb {
                "get" => {
                    self.verb = if options.watch { "watch" } else { "list" };
                    self.name = options.selected_name().unwrap_or_default();
                }
                "delete" => self.verb = "deletecollection",
                _ => {}
            }
        }
        if !has_path_verb && ["list", "watch", "deletecollection"].contains(&self.verb) {
            let fields = options.field_terms.iter().map(SelectorRequirement::of_field);
            let labels = options.label_selector.requirements().iter();
            self.field_selector = SelectorAttributes::of(fields);
            self.label_selector = SelectorAttributes::of(labels.filter_map(SelectorRequirement::of_label));
        }
    }

    /// `pods.custom.metrics.k8s.io "*" is `.
    fn forbidden_subject(&self) -> String {
        let qualified = match (self.resource, self.group) {
            ("", _) => return String::new(),
            (resource, "") => resource.to_owned(),
            (resource, group) => format!("{resource}.{group}"),
        };
        match self.name {
            "" => format!("{qualified} is "),
            name => format!("{qualified} {} is ", quoted(name)),
        }
    }

    fn forbidden_reason(&self, user: &str) -> String {
        let resource = match self.subresource {
            "" => self.resource.to_owned(),
            subresource => format!("{}/{subresource}", self.resource),
        };
        let [user, resource, group, namespace] = [user, &resource, self.group, self.namespace].map(quoted);
        let scope = if self.namespace.is_empty() {
            "at the cluster scope".to_owned()
        } else {
            format!("in the namespace {namespace}")
        };
        let verb = self.verb;
        format!("User {user} cannot {verb} resource {resource} in API group {group} {scope}")
    }
}

impl<'a> SelectorAttributes<'a> {
    fn of(requirements: impl Iterator<Item = SelectorRequirement<'a>>) -> Option<Self> {
        let requirements: Vec<_> = requirements.collect();
        (!requirements.is_empty()).then_some(Self { requirements })
    }
}

impl<'a> SelectorRequirement<'a> {
    fn of_field(term: &'a FieldTerm) -> Self {
        Self {
            key: &term.field,
            operator: if term.equals { "In" } else { "NotIn" },
            values: vec![&term.value],
        }
    }

    /// Returns `None` for `>` and `<`, which a review cannot express. Without them a review is about more objects, never
    /// about fewer.
    fn of_label(requirement: &'a Requirement) -> Option<Self> {
        let operator = match requirement.operator {
            Operator::Equals | Operator::DoubleEquals | Operator::In => "In",
            Operator::NotEquals | Operator::NotIn => "NotIn",
            Operator::Exists => "Exists",
            Operator::DoesNotExist => "DoesNotExist",
            Operator::GreaterThan | Operator::LessThan => return None,
        };
        Some(Self {
            key: &requirement.key,
            operator,
            values: requirement.values.iter().map(|value| &**value).collect(),
        })
    }
}

/// The verb that an API server derives from an HTTP method.
fn method_verb(method: &str) -> &'static str {
    match method {
        "POST" => "create",
        "GET" | "HEAD" => "get",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" => "delete",
        _ => "",
    }
}
