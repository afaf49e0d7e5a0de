//! One page of a list, and the tokens that lead to the next:
//! <https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks>

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::query::Query;
use super::status::Status;
use crate::cluster::{Cluster, Resource};

/// A list as it is sent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct List {
    kind: String,
    api_version: String,
    metadata: ListMetadata,
    pub(super) items: Vec<Item>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListMetadata {
    resource_version: String,
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining_item_count: Option<usize>,
}

/// One object of a list. Objects of built-in resources have no `kind` and `apiVersion`, as on a real server.
pub(super) struct Item {
    pub(super) key: String,
    pub(super) object: Arc<Value>,
    without_type_meta: bool,
}

impl Serialize for Item {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = self.object.as_object().into_iter().flatten();
        serializer
            .collect_map(fields.filter(|(key, _)| !self.without_type_meta || (*key != "kind" && *key != "apiVersion")))
    }
}

/// The content of a continue token, in the format of a real one; opaque to clients.
#[derive(Deserialize, Serialize)]
struct ContinueToken {
    v: String,
    /// -1 continues at the newest version.
    #[serde(default)]
    rv: i64,
    #[serde(default)]
    start: String,
}

const CONTINUE_TOKEN_VERSION: &str = "meta.k8s.io/v1";
/// A token with this version continues at the newest one, although the list is then inconsistent.
const NEWEST: i64 = -1;
/// A character that sorts before every name.
const BEFORE_ALL: char = '!';

impl ContinueToken {
    fn encode(rv: i64, start: String) -> String {
        let token = ContinueToken {
            v: CONTINUE_TOKEN_VERSION.to_owned(),
            rv,
            start,
        };
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default())
    }

    fn decode(text: &str) -> Result<Self, Status> {
        let wrong =
            |why: &str| Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
        let bytes = URL_SAFE_NO_PAD
            .decode(text)
            .map_err(|error| wrong(&error.to_string()))?;
        let token: ContinueToken = serde_json::from_slice(&bytes).map_err(|error| wrong(&error.to_string()))?;
        if token.v != CONTINUE_TOKEN_VERSION {
            return Err(wrong("server does not recognize this encoded version"));
        }
        if token.rv == 0 {
            return Err(wrong(
                "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
            ));
        }
        if token.start.is_empty() {
            return Err(wrong("encoded start key empty (version meta.k8s.io/v1)"));
        }
        Ok(token)
    }

    /// The version to read at; `None` is the newest.
    fn version(&self) -> Option<u64> {
        u64::try_from(self.rv).ok()
    }
}

impl List {
    /// Adds a continue token with which the list starts again.
    pub(super) fn make_endless(&mut self, query: &Query) {
        let token = query
            .continue_token
            .as_deref()
            .and_then(|text| ContinueToken::decode(text).ok());
        let number = token.and_then(|token| token.start.strip_prefix(BEFORE_ALL)?.parse().ok());
        let next = number.unwrap_or(0_u64) + 1;
        self.metadata.next = Some(ContinueToken::encode(NEWEST, format!("{BEFORE_ALL}{next}")));
    }
}

/// Returns one page of a resource in all namespaces or in one.
pub(super) fn page(
    cluster: &Cluster,
    resource: &Resource,
    namespace: Option<&str>,
    query: &Query,
) -> Result<List, Status> {
    let prefix = namespace.map_or_else(String::new, |namespace| format!("{namespace}/"));
    let token = query.continue_token.as_deref().map(ContinueToken::decode).transpose()?;
    let start = token.as_ref().map_or_else(String::new, |token| {
        format!("{prefix}{}", token.start.trim_start_matches('/'))
    });
    let version = token.as_ref().and_then(ContinueToken::version);
    let listing = cluster
        .listing(resource, version)
        .map_err(|_| expired(token.as_ref()))?;
    let wanted =
        |(key, object): &(String, Arc<Value>)| key.starts_with(&prefix) && *key >= start && query.matches(object);
    let mut found: Vec<_> = listing.objects.into_iter().filter(wanted).collect();
    let remaining = found.len().saturating_sub(query.limit.unwrap_or(found.len()));
    found.truncate(found.len() - remaining);
    let last = found.last().filter(|_| remaining > 0);
    let next = last.map(|(key, _)| ContinueToken::encode(version_number(listing.version), after(key, &prefix)));
    let remaining_item_count = (remaining > 0 && !query.selects()).then_some(remaining);
    let metadata = ListMetadata {
        resource_version: listing.version.to_string(),
        next,
        remaining_item_count,
    };
    let without_type_meta = !listing.resource.custom;
    let items = found
        .into_iter()
        .map(|(key, object)| Item {
            key,
            object,
            without_type_meta,
        })
        .collect();
    Ok(List {
        kind: format!("{}List", resource.kind),
        api_version: resource.api_version(),
        metadata,
        items,
    })
}

/// The first key after `key`, without the prefix.
fn after(key: &str, prefix: &str) -> String {
    format!("{}\0", key.strip_prefix(prefix).unwrap_or(key))
}

fn expired(token: Option<&ContinueToken>) -> Status {
    Status::expired(token.map(|token| ContinueToken::encode(NEWEST, token.start.clone())))
}

/// The 410 for this request as if its resource version were compacted.
pub(super) fn expired_token(query: &Query) -> Status {
    expired(
        query
            .continue_token
            .as_deref()
            .and_then(|text| ContinueToken::decode(text).ok())
            .as_ref(),
    )
}

fn version_number(version: u64) -> i64 {
    i64::try_from(version).unwrap_or(i64::MAX)
}
