//! Reads the `APIResourceList` in which an adapter lists its metrics.
//! <https://kubernetes.io/docs/concepts/overview/kubernetes-api/#unaggregated-discovery>

use crate::api_version::ApiVersion;
use burst_kube::json;
use serde::{Deserialize, Serialize};

/// An adapter with a metric for each series could list any number. Every client of discovery reads the whole list.
const MAX_RESOURCES: usize = 10_000;
/// In bytes: room for [`MAX_RESOURCES`] with some 400 bytes each.
const MAX_LENGTH: usize = 4 << 20;

/// A metric of another adapter, as the adapter lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AdapterResource {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) singular_name: String,
    pub(crate) namespaced: bool,
    kind: String,
    #[serde(default)]
    pub(crate) verbs: Vec<String>,
}

impl AdapterResource {
    /// The kind to list in discovery.
    ///
    /// Adapters give all of their external metrics the same kind, and kubectl requests the last resource of a kind,
    /// whichever one the user names. So an external metric is listed with its name as its kind. kubectl does not look up
    /// custom metrics by kind, because they are subresources.
    pub(crate) fn discovery_kind(&self, api: ApiVersion) -> &str {
        match api {
            ApiVersion::ExternalV1Beta1 => &self.name,
            ApiVersion::CustomV1Beta1 | ApiVersion::CustomV1Beta2 => &self.kind,
        }
    }

    /// Returns whether no part of the name is empty. Adapters that list no metrics offer `/custommetrics`, so that their
    /// list is not empty.
    pub(crate) fn is_well_named(&self) -> bool {
        self.name.split('/').all(|part| !part.is_empty())
    }
}

/// Why the resources of an adapter could not be read. Discovery then lists our metrics alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum AdapterDiscoveryError {
    /// The request could not be sent.
    #[error("{0}")]
    NotSent(String),
    /// No complete response arrived in time.
    #[error("it gave no answer")]
    NoAnswer,
    /// The response has an error status. 404 is not an error: the adapter does not serve the version.
    #[error("it answered {0}")]
    Status(u16),
    /// The response is not a list of resources.
    #[error("its answer is not an APIResourceList")]
    Malformed,
    /// The list has too many bytes or names.
    #[error("its list of {0} bytes or names is too long")]
    TooLong(usize),
}

#[derive(Deserialize)]
struct ApiResourceList {
    kind: String,
    resources: Vec<AdapterResource>,
}

/// The path under which an adapter lists its resources of a version.
#[must_use]
pub fn resource_list_path(api: ApiVersion) -> String {
    format!("/apis/{}/{}", api.group(), api.version())
}

/// Reads the response of an adapter; a `status` of `None` stands for no response.
///
/// # Errors
/// The response is not a complete list of a reasonable size.
pub(crate) fn read_resource_list(
    status: Option<u16>,
    body: &[u8],
) -> Result<Vec<AdapterResource>, AdapterDiscoveryError> {
    match status {
        None => return Err(AdapterDiscoveryError::NoAnswer),
        Some(404) => return Ok(Vec::new()),
        Some(200..=299) => {}
        Some(other) => return Err(AdapterDiscoveryError::Status(other)),
    }
    if body.len() > MAX_LENGTH {
        return Err(AdapterDiscoveryError::TooLong(body.len()));
    }
    let ApiResourceList { kind, resources } = json::read(body).map_err(|_| AdapterDiscoveryError::Malformed)?;
    if kind != "APIResourceList" || resources.iter().any(|resource| resource.name.is_empty()) {
        return Err(AdapterDiscoveryError::Malformed);
    }
    if resources.len() > MAX_RESOURCES {
        return Err(AdapterDiscoveryError::TooLong(resources.len()));
    }
    Ok(resources)
}
