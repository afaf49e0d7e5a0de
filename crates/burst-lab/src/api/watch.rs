//! A watch: the changes of a resource, as they happen.
//! <https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes>
//!
//! It starts at a resource version, or with the current objects. The server knows the time and carries out the faults.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use super::query::Query;
use super::response;
use super::status::Status;
use super::stream_fault::StreamFault;
use super::watches::Watches;
use crate::cluster::{Cluster, Event, Resource};

/// A real server sends no bookmark in a shorter watch.
const SHORTEST_WITH_BOOKMARK: Duration = Duration::from_secs(3);
/// The annotation of the bookmark after the initial events.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// A running watch.
pub struct Watch {
    cluster: Cluster,
    resource: Resource,
    /// The prefix of the keys: a namespace, or empty.
    prefix: String,
    query: Query,
    bookmark_period: Duration,
    position: Position,
    initial_fault: Option<StreamFault>,
    changes: watch::Receiver<u64>,
    faults: mpsc::UnboundedReceiver<StreamFault>,
}

/// How far a watch has come.
enum Position {
    /// The current objects come first.
    Start,
    /// Every change up to this resource version was sent.
    At(u64),
    /// An error was sent, and nothing follows it.
    Ended,
}

#[derive(Serialize)]
struct EventLine<'a, T> {
    r#type: &'a str,
    object: &'a T,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a watch of {}{}", self.prefix, self.resource.id())
    }
}

impl Watch {
    pub(super) fn new(
        cluster: &Cluster,
        resource: Resource,
        namespace: Option<&str>,
        query: Query,
        watches: &Watches,
    ) -> Self {
        let position = match query.resource_version {
            Some(version) if version > 0 && query.send_initial_events != Some(true) => Position::At(version),
            None | Some(0) if query.send_initial_events == Some(false) => Position::At(cluster.version()),
            _ => Position::Start,
        };
        Self {
            cluster: cluster.clone(),
            prefix: namespace.map_or_else(String::new, |namespace| format!("{namespace}/")),
            bookmark_period: Duration::from_millis(watches.config().bookmark_period),
            position,
            initial_fault: None,
            changes: cluster.changes(),
            faults: watches.register(resource.id()),
            resource,
            query,
        }
    }

    /// The same watch, which fails from its start.
    pub(super) fn with_fault(self, fault: StreamFault) -> Self {
        Self {
            initial_fault: Some(fault),
            ..self
        }
    }

    /// The head of the response, which is sent at once.
    pub(crate) fn head(&self) -> Response<()> {
        response::lines(Bytes::new()).map(drop)
    }

    /// How long it lasts.
    pub(crate) fn timeout(&self) -> Duration {
        self.query.timeout
    }

    /// The time between two bookmarks; `None` if the client wants none.
    pub(crate) fn bookmark_period(&self) -> Option<Duration> {
        self.query.bookmarks.then_some(self.bookmark_period)
    }

    /// The fault that the request met.
    pub(crate) fn initial_fault(&self) -> Option<StreamFault> {
        self.initial_fault
    }

    /// Waits until the cluster has changed since the last call, or until open watches are to have a fault, and returns that.
    pub(crate) async fn wait(&mut self) -> Option<StreamFault> {
        // The watch has a handle on the cluster, so the channel of the changes is always open.
        tokio::select! {
            // A fault comes before the changes that were made after it.
            biased;
            Some(fault) = self.faults.recv() => Some(fault),
            Ok(()) = self.changes.changed() => None,
            else => std::future::pending().await,
        }
    }

    /// Returns the next fault that open watches are to have, without waiting.
    pub(crate) fn pending_fault(&mut self) -> Option<StreamFault> {
        self.faults.try_recv().ok()
    }

    /// Returns whether the last event was an error.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.position, Position::Ended)
    }

    /// Returns the events since the last call, a line each.
    pub(crate) fn next_events(&mut self) -> Vec<Bytes> {
        let news = match self.position {
            Position::Start => self.initial_events(),
            Position::At(version) => self.changes_since(version),
            Position::Ended => return Vec::new(),
        };
        match news {
            Ok((events, version)) => {
                self.position = Position::At(version);
                events
            }
            Err(error) => {
                self.position = Position::Ended;
                vec![event_line("ERROR", &error)]
            }
        }
    }

    /// All events so far, as the whole body of a response.
    pub(crate) fn event_lines(&mut self) -> Bytes {
        let mut events = self.next_events();
        if self.query.bookmarks && self.query.timeout >= SHORTEST_WITH_BOOKMARK && !self.has_ended() {
            events.push(self.bookmark());
        }
        events.concat().into()
    }

    /// A bookmark after all events so far.
    pub(crate) fn bookmark(&self) -> Bytes {
        let version = match self.position {
            Position::At(version) => version,
            Position::Start | Position::Ended => self.cluster.version(),
        };
        let metadata = json!({ "resourceVersion": version.to_string() });
        event_line("BOOKMARK", &self.resource.empty_object(&metadata))
    }

    /// The error event of a resource version that was compacted.
    pub(crate) fn expired(&self) -> Bytes {
        let version = self.cluster.version();
        let asked = match self.position {
            Position::At(version) => version,
            Position::Start | Position::Ended => version,
        };
        event_line("ERROR", &Status::too_old(asked, version))
    }

    /// An event of an object with a name of this length.
    pub(crate) fn long_name(&self, characters: usize) -> Bytes {
        let metadata = json!({
            "name": "x".repeat(characters),
            "namespace": "default",
            "resourceVersion": self.cluster.version().to_string(),
        });
        event_line("ADDED", &self.resource.empty_object(&metadata))
    }

    fn initial_events(&self) -> Result<(Vec<Bytes>, u64), Status> {
        let sends_initial_events = self.query.send_initial_events == Some(true);
        let listing = self
            .cluster
            .listing(&self.resource, None)
            .map_err(|gone| Status::too_old(gone.asked, gone.oldest))?;
        let asked = self.query.resource_version.unwrap_or(0);
        if sends_initial_events && asked > listing.version {
            return Err(Status::too_large(asked, listing.version));
        }
        let chosen = listing.objects.iter().filter(|(key, object)| self.matches(key, object));
        let mut events: Vec<_> = chosen.map(|(_, object)| event_line("ADDED", &**object)).collect();
        if sends_initial_events && self.query.bookmarks {
            let metadata = json!({
                "resourceVersion": listing.version.to_string(),
                "annotations": { INITIAL_EVENTS_END: "true" },
            });
            events.push(event_line("BOOKMARK", &self.resource.empty_object(&metadata)));
        }
        Ok((events, listing.version))
    }

    fn changes_since(&self, version: u64) -> Result<(Vec<Bytes>, u64), Status> {
        let (events, newest) = self
            .cluster
            .events_and_version(&self.resource.id(), version)
            .map_err(|gone| Status::too_old(gone.asked, gone.oldest))?;
        let lines = events.iter().filter_map(|event| self.event(event)).collect();
        // A watch from a version of the future waits for it.
        Ok((lines, newest.max(version)))
    }

    /// The event for a watcher with selectors: an object that no longer matches is deleted.
    fn event(&self, event: &Event) -> Option<Bytes> {
        let of = |object: &Option<Arc<Value>>| object.clone().filter(|object| self.matches(&event.key, object));
        Some(match (of(&event.before), of(&event.after)) {
            (None, None) => return None,
            (None, Some(after)) => event_line("ADDED", &*after),
            (Some(_), Some(after)) => event_line("MODIFIED", &*after),
            (Some(mut before), None) => {
                Arc::make_mut(&mut before)["metadata"]["resourceVersion"] = json!(event.version.to_string());
                event_line("DELETED", &*before)
            }
        })
    }

    fn matches(&self, key: &str, object: &Value) -> bool {
        key.starts_with(&self.prefix) && self.query.matches(object)
    }
}

fn event_line(r#type: &str, object: &impl Serialize) -> Bytes {
    let mut line = serde_json::to_vec(&EventLine { r#type, object }).unwrap_or_default();
    line.push(b'\n');
    line.into()
}
