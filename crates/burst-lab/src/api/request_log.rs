//! Every request the API received, so that a test can count who asked for what.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::watch;

/// How many requests are kept word for word; the counts go on.
const KEPT: usize = 10_000;

/// One request to the API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Seen {
    /// `GET`, …
    pub method: String,
    /// Without the query.
    pub path: String,
    /// Without the `?`; empty when there is none.
    pub query: String,
    /// Such as `horizontalpodautoscalers.autoscaling`; empty for a path that names no resource.
    pub resource: String,
    /// RBAC's verb: `list`, `get`, `watch`, …
    pub verb: String,
    /// Empty when the request had none.
    pub user_agent: String,
    /// The fault that met it, if one did.
    pub fault: Option<String>,
    /// The status it was answered with; none when it was met with silence or a reset.
    pub status: Option<u16>,
}

/// How many requests there were since the start or the last [`RequestLog::clear`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// All of them.
    pub total: u64,
    /// By resource.
    pub by_resource: BTreeMap<String, u64>,
    /// By `user-agent`.
    pub by_user_agent: BTreeMap<String, u64>,
}

/// A handle on the log; clones share it.
#[derive(Clone)]
pub struct RequestLog {
    book: Arc<Mutex<Book>>,
    total: Arc<watch::Sender<u64>>,
}

#[derive(Default)]
struct Book {
    counts: Counts,
    seen: VecDeque<Seen>,
}

impl Default for RequestLog {
    fn default() -> Self {
        RequestLog {
            book: Arc::default(),
            total: Arc::new(watch::Sender::new(0)),
        }
    }
}

impl RequestLog {
    /// The newest requests, oldest first; more than ten thousand are not kept.
    pub fn seen(&self) -> Vec<Seen> {
        crate::locked(&self.book).seen.iter().cloned().collect()
    }

    /// How many of the kept requests fit.
    pub fn count(&self, fits: impl Fn(&Seen) -> bool) -> usize {
        crate::locked(&self.book).seen.iter().filter(|seen| fits(seen)).count()
    }

    /// The counts, of every request since the last [`RequestLog::clear`].
    pub fn counts(&self) -> Counts {
        crate::locked(&self.book).counts.clone()
    }

    /// Begins anew.
    pub fn clear(&self) {
        *crate::locked(&self.book) = Book::default();
        self.total.send_replace(0);
    }

    /// Waits until the kept requests meet the condition.
    ///
    /// # Errors
    /// They did not within `limit`: what was seen by then.
    pub async fn wait_until(&self, limit: Duration, met: impl Fn(&[Seen]) -> bool) -> Result<(), Vec<Seen>> {
        let mut total = self.total.subscribe();
        let waiting = async {
            while !met(&self.seen()) {
                if total.changed().await.is_err() {
                    break;
                }
            }
        };
        tokio::time::timeout(limit, waiting).await.map_err(|_| self.seen())
    }

    pub(super) fn record(&self, seen: Seen) {
        let total = crate::locked(&self.book).add(seen);
        self.total.send_replace(total);
    }
}

impl Book {
    fn add(&mut self, seen: Seen) -> u64 {
        self.counts.total += 1;
        *self.counts.by_resource.entry(seen.resource.clone()).or_default() += 1;
        *self.counts.by_user_agent.entry(seen.user_agent.clone()).or_default() += 1;
        self.seen.push_back(seen);
        if self.seen.len() > KEPT {
            self.seen.pop_front();
        }
        self.counts.total
    }
}
