//! A watch with a timeout: the changes between its start and its end.
//! <https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes>
//!
//! A real server sends each event at once. Here all events are sent at the end, which is equivalent for a client that
//! waits for the end.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use serde_json::{Value, json};

use super::query::Query;
use super::response;
use super::status::Status;
use crate::cluster::{Cluster, Event, Resource};

/// A real server sends no bookmark in a shorter watch.
const SHORTEST_WITH_BOOKMARK: Duration = Duration::from_secs(3);

/// A running watch.
pub struct Watch {
    cluster: Cluster,
    resource: Resource,
    /// The prefix of the keys: a namespace, or empty.
    prefix: String,
    query: Query,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a watch of {}{}", self.prefix, self.resource.id())
    }
}

impl Watch {
    pub(super) fn new(cluster: &Cluster, resource: Resource, namespace: Option<&str>, query: Query) -> Self {
        Self {
            cluster: cluster.clone(),
            resource,
            prefix: namespace.map_or_else(String::new, |namespace| format!("{namespace}/")),
            query,
        }
    }

    /// The head of the response, which is sent at once.
    pub(crate) fn head(&self) -> Response<Bytes> {
        response::lines(Bytes::new())
    }

    /// How long it lasts.
    pub(crate) fn timeout(&self) -> Duration {
        self.query.timeout
    }

    /// The events if it ends now.
    pub(crate) fn event_lines(&self) -> Bytes {
        let mut lines = match self.events() {
            Ok(lines) => lines,
            Err(expired) => return event_line("ERROR", &json!(expired)).into(),
        };
        if self.query.bookmarks && self.query.timeout >= SHORTEST_WITH_BOOKMARK {
            let version = self.cluster.version().to_string();
            let bookmark = json!({
                "kind": self.resource.kind,
                "apiVersion": self.resource.api_version(),
                "metadata": { "resourceVersion": version, "creationTimestamp": null },
            });
            lines.push_str(&event_line("BOOKMARK", &bookmark));
        }
        lines.into()
    }

    fn events(&self) -> Result<String, Status> {
        let id = self.resource.id();
        match self.query.resource_version {
            Some(version) => {
                let events = self.cluster.events(&id, version);
                let events = events.map_err(|gone| Status::too_old(gone.asked, gone.oldest))?;
                Ok(events.iter().filter_map(|event| self.event(event)).collect())
            }
            // Without a version, a watch starts with the current objects; reading them at the end gives the same result.
            None => {
                let objects = self.cluster.objects(&id);
                let matches = |(key, object): &(String, Arc<Value>)| self.matches(key, object);
                Ok(objects
                    .into_iter()
                    .filter(matches)
                    .map(|(_, object)| event_line("ADDED", &object))
                    .collect())
            }
        }
    }

    /// The event for a watcher with selectors: an object that no longer matches is deleted.
    fn event(&self, event: &Event) -> Option<String> {
        let of = |object: &Option<Arc<Value>>| object.clone().filter(|object| self.matches(&event.key, object));
        Some(match (of(&event.before), of(&event.after)) {
            (None, None) => return None,
            (None, Some(after)) => event_line("ADDED", &after),
            (Some(_), Some(after)) => event_line("MODIFIED", &after),
            (Some(mut before), None) => {
                Arc::make_mut(&mut before)["metadata"]["resourceVersion"] = json!(event.version.to_string());
                event_line("DELETED", &before)
            }
        })
    }

    fn matches(&self, key: &str, object: &Value) -> bool {
        key.starts_with(&self.prefix) && self.query.matches(object)
    }
}

fn event_line(r#type: &str, object: &Value) -> String {
    format!("{}\n", json!({ "type": r#type, "object": object }))
}
