//! The files in `istio/` are the templates. A field that the values do not change keeps its shipped value.

use json_patch::Patch;
use serde_json::Value;

use crate::yaml;

macro_rules! shipped {
    ($($name:ident = $path:literal;)*) => {
        $(pub(super) const $name: ManifestFile = ManifestFile {
            path: $path,
            text: include_str!(concat!("../../../../istio/", $path)),
        };)*
    };
}

shipped! {
    RBAC = "base/rbac.yaml";
    KUBE_API = "base/kube-api.yaml";
    STREAMS = "streams/kube-api.patch.yaml";
    LOCK = "lock/policy.yaml";
    GATEWAY_PLUGIN = "gateway/plugin.yaml";
    GATEWAY_EXTENSION = "gateway-trafficextension/extension.yaml";
    GATEWAY_FILTER = "gateway-envoyfilter/filter.yaml";
    SIDECAR_BINDING = "sidecar/role-binding.yaml";
    SIDECAR_KUBE_API = "sidecar/kube-api.patch.yaml";
    SIDECAR_PLUGIN = "sidecar/plugin.yaml";
    SIDECAR_FILTER = "sidecar-envoyfilter/filter.yaml";
}

/// A file in `istio/`.
#[derive(Clone, Copy, Debug)]
pub(super) struct ManifestFile {
    path: &'static str,
    text: &'static str,
}

/// The content of a file in `istio/` is not what this version of the command supports.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("istio/{file}: this version of burstctl does not support its content: {problem}")]
pub struct TemplateMismatch {
    file: &'static str,
    problem: String,
}

/// An object of a file, to be filled in.
#[derive(Clone, Debug)]
pub(super) struct Template {
    file: ManifestFile,
    /// The object with the changes so far.
    pub(super) object: Value,
}

impl ManifestFile {
    /// Returns the only object of the file.
    pub(super) fn object(self) -> Result<Template, TemplateMismatch> {
        let [template] = self.objects()?;
        Ok(template)
    }

    /// Returns all objects of the file, which must be `N`.
    pub(super) fn objects<const N: usize>(self) -> Result<[Template; N], TemplateMismatch> {
        let mut templates = Vec::new();
        for document in yaml::documents(self.text) {
            let tree = document.content.map_err(|error| self.mismatch(error.to_string()))?;
            let object = tree.to_json();
            templates.push(Template { file: self, object });
        }
        templates
            .try_into()
            .map_err(|found: Vec<_>| self.mismatch(format!("{} documents, not {N}", found.len())))
    }

    /// Parses the file as a JSON patch.
    fn patch(self) -> Result<Patch, TemplateMismatch> {
        serde_json::from_value(self.object()?.object).map_err(|error| self.mismatch(error.to_string()))
    }

    fn mismatch(self, problem: impl Into<String>) -> TemplateMismatch {
        let problem = problem.into();
        TemplateMismatch {
            file: self.path,
            problem,
        }
    }
}

impl Template {
    /// Returns the value at `pointer`.
    pub(super) fn at(&self, pointer: &str) -> Result<&Value, TemplateMismatch> {
        let found = self.object.pointer(pointer);
        found.ok_or_else(|| self.file.mismatch(format!("nothing at {pointer}")))
    }

    /// Returns the string at `pointer`.
    pub(super) fn text(&self, pointer: &str) -> Result<&str, TemplateMismatch> {
        let text = self.at(pointer)?.as_str();
        text.ok_or_else(|| self.file.mismatch(format!("no text at {pointer}")))
    }

    /// Replaces the value at `pointer`, which must exist.
    pub(super) fn replace(&mut self, pointer: &str, value: impl Into<Value>) -> Result<(), TemplateMismatch> {
        match self.object.pointer_mut(pointer) {
            Some(target) => *target = value.into(),
            None => return Err(self.file.mismatch(format!("nothing at {pointer}"))),
        }
        Ok(())
    }

    /// Sets a field of an object, whether or not it exists. `None` removes the field.
    pub(super) fn put(&mut self, object: &str, name: &str, value: Option<Value>) -> Result<(), TemplateMismatch> {
        let Some(fields) = self.object.pointer_mut(object).and_then(Value::as_object_mut) else {
            return Err(self.file.mismatch(format!("no object at {object}")));
        };
        match value {
            Some(value) => fields.insert(name.to_owned(), value),
            None => fields.remove(name),
        };
        Ok(())
    }

    /// Applies a JSON patch.
    pub(super) fn patched(mut self, patches: ManifestFile) -> Result<Self, TemplateMismatch> {
        let done = json_patch::patch(&mut self.object, &patches.patch()?);
        done.map_err(|error| patches.mismatch(error.to_string()))?;
        Ok(self)
    }
}
