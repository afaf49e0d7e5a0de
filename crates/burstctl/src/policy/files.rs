//! Reads policies from files: `ExternalMetricPolicy` objects, and the policies in the filter's configuration.

use burst_policy::{DefaultDecision, Policy, PolicyError};

use super::limits::exceeding_limits;
use crate::input::Input;
use crate::objects::Object;
use crate::plugin_config;
use burst_hpa::node::{Mark, NodeValue};

/// The group and version of the shipped CustomResourceDefinition.
pub(super) const API_VERSION: &str = "burstmetrics.dev/v1alpha1";
pub(super) const KIND: &str = "ExternalMetricPolicy";

/// The policies of some files.
#[derive(Debug, Default)]
pub struct PolicyFiles {
    /// In the order in which the filter evaluates them: from the configuration, from the root namespace, then the others.
    pub policies: Vec<Policy>,
    /// The objects that are not valid policies.
    pub invalid: Vec<InvalidPolicy>,
    /// The default of the configuration, if there is one.
    pub default: Option<DefaultDecision>,
}

/// An object that is not a valid policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidPolicy {
    /// The index of its source.
    pub source: usize,
    /// The position of the error.
    pub at: Mark,
    /// Why it is invalid.
    pub reason: String,
}

impl PolicyFiles {
    /// Reads all policies. Policies of the root namespace apply to every namespace. If `root_namespace` is `None`, the
    /// configuration may name it.
    #[must_use]
    pub fn read(input: &Input, root_namespace: Option<&str>) -> Self {
        let mut read = Self::default();
        let mut root = root_namespace.map(str::to_owned);
        for object in input.objects.iter().filter(|object| object.kind() != KIND) {
            read.add_configuration(object, &mut root);
        }
        let mut objects: Vec<_> = input.objects.iter().filter(|object| object.kind() == KIND).collect();
        let is_root = |object: &Object| Some(object.namespace()) == root.as_deref();
        objects.sort_by_key(|object| (!is_root(object), object.title()));
        let mut valid = Vec::new();
        for object in objects {
            let applies = Some(object.namespace()).filter(|_| !is_root(object));
            match policy(object, applies) {
                Ok(policy) => valid.push((object, policy)),
                Err((field, reason)) => read.reject(object, &field, &reason),
            }
        }
        let all: Vec<_> = valid
            .iter()
            .map(|(object, policy)| (object.namespace(), policy))
            .collect();
        for (index, reason) in exceeding_limits(&all, root.as_deref()) {
            if let Some((object, _)) = valid.get(index) {
                read.reject(object, "spec.rules", &reason);
            }
        }
        read.policies.extend(valid.into_iter().map(|(_, policy)| policy));
        read
    }

    fn add_configuration(&mut self, object: &Object, root: &mut Option<String>) {
        let json = object.tree.to_json();
        let Some(configuration) =
            plugin_config::in_document(&json).filter(|configuration| configuration.get("metrics_apis").is_some())
        else {
            return self.reject(
                object,
                "",
                "neither an ExternalMetricPolicy nor the filter's configuration",
            );
        };
        match plugin_config::parse(&configuration) {
            Ok(config) => {
                if let Some(policies) = config.metrics_apis.and_then(|apis| apis.into_inner().policies) {
                    self.policies.extend(policies.given.iter().cloned());
                    self.default = Some(policies.default);
                    let root_namespace = policies.root_namespace.map(|name| name.to_string());
                    *root = root.take().or(root_namespace);
                }
            }
            Err(refused) => self.reject(object, "", &refused.to_string()),
        }
    }

    fn reject(&mut self, object: &Object, field: &str, reason: &str) {
        let at = object.tree.value_span(field).start;
        let title = match object.kind() {
            KIND => format!("{}: ", object.title()),
            _ => String::new(),
        };
        let prefix = if field.is_empty() {
            String::new()
        } else {
            format!("{field}: ")
        };
        self.invalid.push(InvalidPolicy {
            source: object.source,
            at,
            reason: format!("{title}{prefix}{reason}"),
        });
    }
}

/// Parses an object as a policy. The error is the invalid field and the reason.
pub(super) fn policy(object: &Object, applies: Option<&str>) -> Result<Policy, (String, String)> {
    if object.api_version() != API_VERSION {
        let reason = format!("expected {API_VERSION:?}, found {:?}", object.api_version());
        return Err(("apiVersion".to_owned(), reason));
    }
    if let Some(duplicate) = object.tree.duplicate() {
        return Err((duplicate.name.clone(), "is written twice".to_owned()));
    }
    if let NodeValue::Object(fields) = &object.tree.value {
        const KNOWN: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];
        if let Some((unknown, _)) = fields.iter().find(|(key, _)| !KNOWN.contains(&key.name.as_str())) {
            return Err((
                unknown.name.clone(),
                "is not a field of an ExternalMetricPolicy".to_owned(),
            ));
        }
    }
    let Some(spec) = object.tree.field("spec") else {
        return Err(("spec".to_owned(), "is missing".to_owned()));
    };
    Policy::parse(&object.title(), applies, &spec.to_json().to_string()).map_err(|PolicyError { path, kind }| {
        let path = path.trim_start_matches('.');
        let field = if path.is_empty() {
            "spec".to_owned()
        } else {
            format!("spec.{path}")
        };
        (
            field,
            plugin_config::without_json_position(&kind.to_string()).to_owned(),
        )
    })
}
