//! The files of `istio/`, which are the templates: what is not told otherwise stays as it ships.

use json_patch::Patch;
use serde_json::Value;

use crate::yaml;

macro_rules! shipped {
    ($($name:ident = $path:literal;)*) => {
        $(pub(super) const $name: File = File { path: $path, text: include_str!(concat!("../../../../istio/", $path)) };)*
    };
}

shipped! {
    RBAC = "base/rbac.yaml";
    KUBE_API = "base/kube-api.yaml";
    LOCK = "lock/policy.yaml";
    GATEWAY_PLUGIN = "gateway/plugin.yaml";
    GATEWAY_EXTENSION = "gateway-trafficextension/extension.yaml";
    GATEWAY_FILTER = "gateway-envoyfilter/filter.yaml";
    SIDECAR_BINDING = "sidecar/role-binding.yaml";
    SIDECAR_KUBE_API = "sidecar/kube-api.patch.yaml";
    SIDECAR_PLUGIN = "sidecar/plugin.yaml";
    SIDECAR_FILTER = "sidecar-envoyfilter/filter.yaml";
}

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct File {
    path: &'static str,
    text: &'static str,
}

/// A file has changed, and this command with it should have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("istio/{file}: this version of burstctl does not support its content: {problem}")]
pub struct TemplateMismatch {
    file: &'static str,
    problem: String,
}

/// An object of a file.
#[derive(Clone, Debug)]
pub(super) struct Template {
    file: File,
    /// As far as it is told.
    pub(super) object: Value,
}

impl File {
    /// Its one object.
    pub(super) fn object(self) -> Result<Template, TemplateMismatch> {
        let [template] = self.objects()?;
        Ok(template)
    }

    /// So many objects.
    pub(super) fn objects<const N: usize>(self) -> Result<[Template; N], TemplateMismatch> {
        let documents = yaml::documents(self.text).into_iter().map(|document| document.content);
        let trees = documents.collect::<Result<Vec<_>, _>>();
        let trees = trees.map_err(|error| self.changed(error.to_string()))?;
        let templates: Vec<_> = trees
            .iter()
            .map(|tree| Template {
                file: self,
                object: tree.to_json(),
            })
            .collect();
        let wrong = |found: Vec<_>| self.changed(format!("{} documents, not {N}", found.len()));
        templates.try_into().map_err(wrong)
    }

    /// As a JSON patch.
    fn patch(self) -> Result<Patch, TemplateMismatch> {
        serde_json::from_value(self.object()?.object).map_err(|error| self.changed(error.to_string()))
    }

    fn changed(self, problem: impl Into<String>) -> TemplateMismatch {
        let problem = problem.into();
        TemplateMismatch {
            file: self.path,
            problem,
        }
    }
}

impl Template {
    /// What stands there.
    pub(super) fn at(&self, pointer: &str) -> Result<&Value, TemplateMismatch> {
        let found = self.object.pointer(pointer);
        found.ok_or_else(|| self.file.changed(format!("nothing at {pointer}")))
    }

    /// The same as text.
    pub(super) fn text(&self, pointer: &str) -> Result<&str, TemplateMismatch> {
        let text = self.at(pointer)?.as_str();
        text.ok_or_else(|| self.file.changed(format!("no text at {pointer}")))
    }

    /// Puts another value in the place of one that stands there.
    pub(super) fn replace(&mut self, pointer: &str, value: impl Into<Value>) -> Result<(), TemplateMismatch> {
        match self.object.pointer_mut(pointer) {
            Some(place) => *place = value.into(),
            None => return Err(self.file.changed(format!("nothing at {pointer}"))),
        }
        Ok(())
    }

    /// Puts a field into an object, whether or not one of that name is there; `None` takes it away.
    pub(super) fn put(&mut self, object: &str, name: &str, value: Option<Value>) -> Result<(), TemplateMismatch> {
        let Some(fields) = self.object.pointer_mut(object).and_then(Value::as_object_mut) else {
            return Err(self.file.changed(format!("no object at {object}")));
        };
        match value {
            Some(value) => fields.insert(name.to_owned(), value),
            None => fields.remove(name),
        };
        Ok(())
    }

    /// Does what a file of patches says.
    pub(super) fn patched(mut self, patches: File) -> Result<Self, TemplateMismatch> {
        let done = json_patch::patch(&mut self.object, &patches.patch()?);
        done.map_err(|error| patches.changed(error.to_string()))?;
        Ok(self)
    }
}
