//! Writes objects in the formats of the Kubernetes API: JSON, YAML and protobuf.
//! <https://kubernetes.io/docs/reference/using-api/api-concepts/#alternate-representations-of-resources>

mod go_json;
mod list_body;
mod protobuf;
mod yaml;

pub(crate) use list_body::ListBody;

use prost::Message;
use serde::Serialize;

/// A format of the Kubernetes API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    Yaml,
    Protobuf,
}

/// The kind of a document. In JSON and YAML these are its first fields, in protobuf they precede it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TypeMeta<'a> {
    pub(crate) kind: &'a str,
    pub(crate) api_version: &'a str,
}

impl<'a> TypeMeta<'a> {
    pub(crate) const fn new(kind: &'a str, api_version: &'a str) -> Self {
        Self { kind, api_version }
    }
}

/// Writes a JSON document without a kind.
pub(crate) fn plain_json(value: &impl Serialize) -> Vec<u8> {
    let mut json = Vec::new();
    go_json::append(&mut json, value);
    Encoding::Json.finish_json(json)
}

impl Encoding {
    /// All formats, in the order of preference of kube-apiserver.
    pub(crate) const ALL: [Self; 3] = [Self::Json, Self::Yaml, Self::Protobuf];

    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    /// Writes a whole document.
    pub(crate) fn encode<T: Message + Serialize>(self, type_meta: TypeMeta<'_>, object: &T) -> Vec<u8> {
        match self {
            Self::Protobuf => protobuf::envelope(type_meta, &object.encode_to_vec()),
            Self::Json | Self::Yaml => {
                let mut json = Vec::new();
                go_json::append_type_meta(&mut json, type_meta);
                // The fields of the object follow those of its kind.
                let start = json.len();
                go_json::append(&mut json, object);
                if let Some(brace) = json.get_mut(start) {
                    *brace = b',';
                }
                self.finish_json(json)
            }
        }
    }

    /// Ends a JSON document, or converts it.
    fn finish_json(self, mut json: Vec<u8>) -> Vec<u8> {
        if self == Self::Yaml {
            return yaml::from_json(&json);
        }
        json.push(b'\n');
        json
    }
}

#[cfg(test)]
mod tests;
