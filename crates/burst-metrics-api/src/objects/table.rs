//! The parts of a `Table`, which kubectl prints as it is. It has no protobuf form, as in kube-apiserver.
//! <https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables>

use super::ObjectMeta;
use serde::Serialize;

/// `TableColumnDefinition`.
#[derive(Debug, Serialize)]
pub(crate) struct TableColumn {
    pub(crate) name: &'static str,
    #[serde(rename = "type")]
    pub(crate) value_type: &'static str,
    pub(crate) format: &'static str,
    pub(crate) description: &'static str,
    pub(crate) priority: i32,
}

/// `TableRow`.
#[derive(Debug, Serialize)]
pub(crate) struct TableRow {
    pub(crate) cells: Vec<String>,
    pub(crate) object: PartialObjectMetadata,
}

/// The object of a row, from which kubectl takes the name and namespace.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PartialObjectMetadata {
    kind: &'static str,
    api_version: &'static str,
    metadata: ObjectMeta,
}

impl PartialObjectMetadata {
    pub(crate) fn new(name: &str, namespace: Option<&str>) -> Self {
        Self {
            kind: "PartialObjectMetadata",
            api_version: "meta.k8s.io/v1",
            metadata: ObjectMeta {
                name: name.to_owned(),
                namespace: namespace.unwrap_or_default().to_owned(),
                creation_timestamp: None,
            },
        }
    }
}
