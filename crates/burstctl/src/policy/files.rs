//! Policies out of files: `ExternalMetricPolicy` objects, and the filter's configuration with those that stand in it.

use burst_policy::{DefaultDecision, Policy, PolicyError};

use super::limits::over_limits;
use crate::input::Input;
use crate::objects::Object;
use crate::plugin;
use crate::yaml::{Mark, Value};

/// The group and version that ship.
pub(super) const API_VERSION: &str = "burstmetrics.dev/v1alpha1";
pub(super) const KIND: &str = "ExternalMetricPolicy";

/// What files say of policies.
#[derive(Debug, Default)]
pub struct Policies {
    /// In the order in which the filter asks them: of the configuration, of the root namespace, and of the others.
    pub policies: Vec<Policy>,
    /// What is no policy.
    pub faulty: Vec<Faulty>,
    /// As a configuration says.
    pub default: Option<DefaultDecision>,
}

/// What is no policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faulty {
    /// Index of its source.
    pub source: usize,
    /// Where it begins to be none.
    pub at: Mark,
    /// Why it is none.
    pub reason: String,
}

impl Policies {
    /// Reads all that there are. Objects of the root namespace are for all; a configuration may say which that is.
    #[must_use]
    pub fn read(input: &Input, root_namespace: Option<&str>) -> Self {
        let mut read = Self::default();
        let mut root = root_namespace.map(str::to_owned);
        for object in input.objects.iter().filter(|object| object.kind() != KIND) {
            read.take_configuration(object, &mut root);
        }
        let mut objects: Vec<_> = input.objects.iter().filter(|object| object.kind() == KIND).collect();
        let is_root = |object: &Object| Some(object.namespace()) == root.as_deref();
        objects.sort_by_key(|object| (!is_root(object), object.title()));
        let mut taken = Vec::new();
        for object in objects {
            let applies = Some(object.namespace()).filter(|_| !is_root(object));
            match policy(object, applies) {
                Ok(policy) => taken.push((object, policy)),
                Err((field, reason)) => read.object_to(object, &field, &reason),
            }
        }
        let all: Vec<_> = taken
            .iter()
            .map(|(object, policy)| (object.namespace(), policy))
            .collect();
        for (place, reason) in over_limits(&all, root.as_deref()) {
            if let Some((object, _)) = taken.get(place) {
                read.object_to(object, "spec.rules", &reason);
            }
        }
        read.policies.extend(taken.into_iter().map(|(_, policy)| policy));
        read
    }

    fn take_configuration(&mut self, object: &Object, root: &mut Option<String>) {
        let json = object.tree.to_json();
        let Some(words) = plugin::configuration_of_document(&json).filter(|words| words.get("metrics_apis").is_some())
        else {
            return self.object_to(
                object,
                "",
                "neither an ExternalMetricPolicy nor the filter's configuration",
            );
        };
        match plugin::checked(&words) {
            Ok(config) => {
                if let Some(policies) = config.metrics_apis.and_then(|apis| apis.into_inner().policies) {
                    self.policies.extend(policies.given);
                    self.default = Some(policies.default);
                    let root_namespace = policies.root_namespace.map(|name| name.to_string());
                    *root = root.take().or(root_namespace);
                }
            }
            Err(refused) => self.object_to(object, "", &refused.to_string()),
        }
    }

    fn object_to(&mut self, object: &Object, field: &str, reason: &str) {
        let at = object.tree.place(field).start;
        let title = match object.kind() {
            KIND => format!("{}: ", object.title()),
            _ => String::new(),
        };
        let place = if field.is_empty() {
            String::new()
        } else {
            format!("{field}: ")
        };
        self.faulty.push(Faulty {
            source: object.source,
            at,
            reason: format!("{title}{place}{reason}"),
        });
    }
}

/// The policy that an object is, or the field that makes it none and why.
pub(super) fn policy(object: &Object, applies: Option<&str>) -> Result<Policy, (String, String)> {
    if object.api_version() != API_VERSION {
        let reason = format!("expected {API_VERSION:?}, found {:?}", object.api_version());
        return Err(("apiVersion".to_owned(), reason));
    }
    if let Some(twice) = object.tree.duplicate() {
        return Err((twice.name.clone(), "is written twice".to_owned()));
    }
    if let Value::Object(fields) = &object.tree.value {
        const KNOWN: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];
        if let Some((unknown, _)) = fields.iter().find(|(key, _)| !KNOWN.contains(&key.name.as_str())) {
            return Err((
                unknown.name.clone(),
                "is no field of an ExternalMetricPolicy".to_owned(),
            ));
        }
    }
    let spec = object.tree.field("spec").map(|spec| spec.to_json().to_string());
    let spec = spec.ok_or_else(|| ("spec".to_owned(), "is missing".to_owned()))?;
    Policy::parse(&object.title(), applies, &spec).map_err(|PolicyError { path, kind }| {
        let path = path.trim_start_matches('.');
        let field = if path.is_empty() {
            "spec".to_owned()
        } else {
            format!("spec.{path}")
        };
        // The place in a JSON that nobody wrote.
        let reason = kind.to_string();
        let reason = reason.rsplit_once(" at line ").map_or(&*reason, |(reason, _)| reason);
        (field, reason.to_owned())
    })
}
