//! What an adapter says it has: an `APIResourceList`.
//! <https://kubernetes.io/docs/concepts/overview/kubernetes-api/#unaggregated-discovery>

use super::super::Api;
use crate::json;
use serde::{Deserialize, Serialize};

/// More than any client reads with pleasure: an adapter that names a metric for each series has no end.
const MOST: usize = 10_000;
/// What so many names are at most, at some 150 bytes each.
const LONGEST: usize = 4 << 20;

/// A metric of another adapter, as it lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Offer {
    pub(in super::super) name: String,
    #[serde(default)]
    pub(in super::super) singular_name: String,
    pub(in super::super) namespaced: bool,
    kind: String,
    #[serde(default)]
    pub(in super::super) verbs: Vec<String>,
}

impl Offer {
    /// Its kind in discovery. Adapters give all of their external metrics one kind, and kubectl gets the last resource of
    /// a kind, whichever it is asked for; so there the name is the kind. Custom metrics are subresources, which kubectl
    /// does not look up by their kinds.
    pub(in super::super) fn kind(&self, api: Api) -> &str {
        match api {
            Api::External => &self.name,
            Api::CustomV1Beta1 | Api::CustomV1Beta2 => &self.kind,
        }
    }
}

/// Why it is not known what an adapter has; our own metrics are listed alone then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Unlisted {
    /// It could not be asked.
    #[error("{0}")]
    NotSent(String),
    /// No answer, or not the whole of one, in time.
    #[error("it gave no answer")]
    NoAnswer,
    /// Anything but a success. 404 is none of these: it has nothing there.
    #[error("it answered {0}")]
    Status(u16),
    /// Something else than a list of resources.
    #[error("it answered with something else than an APIResourceList")]
    Malformed,
    /// A list that is too much.
    #[error("its list of {0} bytes or names is too long")]
    TooLong(usize),
}

#[derive(Deserialize)]
struct List {
    kind: String,
    resources: Vec<Offer>,
}

/// Where an adapter lists what it has.
#[must_use]
pub fn path(api: Api) -> String {
    format!("/apis/{}/{}", api.group(), api.version())
}

/// Reads what it says.
///
/// # Errors
/// Where it does not say.
pub fn read(status: Option<u16>, body: &[u8]) -> Result<Vec<Offer>, Unlisted> {
    match status {
        None => return Err(Unlisted::NoAnswer),
        Some(404) => return Ok(Vec::new()),
        Some(200..=299) => {}
        Some(other) => return Err(Unlisted::Status(other)),
    }
    if body.len() > LONGEST {
        return Err(Unlisted::TooLong(body.len()));
    }
    let List { kind, resources } = json::from_slice(body).map_err(|_| Unlisted::Malformed)?;
    if kind != "APIResourceList" || resources.iter().any(|offer| offer.name.is_empty()) {
        return Err(Unlisted::Malformed);
    }
    if resources.len() > MOST {
        return Err(Unlisted::TooLong(resources.len()));
    }
    Ok(resources)
}
