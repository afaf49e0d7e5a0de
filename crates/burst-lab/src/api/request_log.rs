//! A log of every request to the API, with counts by resource and client.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::watch;

/// How many requests are kept; the counts include all.
const CAPACITY: usize = 10_000;

/// One request to the API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoggedRequest {
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
    /// `HTTP/1.1` or `HTTP/2.0`.
    pub protocol: String,
    /// Empty when the request had none.
    pub user_agent: String,
    /// The fault that was applied, if any.
    pub fault: Option<String>,
    /// The status of the response; `None` after a hang or a reset.
    pub status: Option<u16>,
}

/// The number of requests since the start or the last [`RequestLog::clear`].
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

/// The log; clones share it.
#[derive(Clone)]
pub struct RequestLog {
    entries: Arc<Mutex<Entries>>,
    total: Arc<watch::Sender<u64>>,
}

#[derive(Default)]
struct Entries {
    counts: Counts,
    requests: VecDeque<LoggedRequest>,
}

impl Default for RequestLog {
    fn default() -> Self {
        RequestLog {
            entries: Arc::default(),
            total: Arc::new(watch::Sender::new(0)),
        }
    }
}

impl RequestLog {
    /// Returns the newest requests, oldest first, at most ten thousand.
    pub fn entries(&self) -> Vec<LoggedRequest> {
        crate::locked(&self.entries).requests.iter().cloned().collect()
    }

    /// Returns how many of the kept requests match.
    pub fn count(&self, fits: impl Fn(&LoggedRequest) -> bool) -> usize {
        crate::locked(&self.entries)
            .requests
            .iter()
            .filter(|request| fits(request))
            .count()
    }

    /// Returns the counts since the last [`RequestLog::clear`].
    pub fn counts(&self) -> Counts {
        crate::locked(&self.entries).counts.clone()
    }

    /// Clears the log and the counts.
    pub fn clear(&self) {
        *crate::locked(&self.entries) = Entries::default();
        self.total.send_replace(0);
    }

    /// Waits until the kept requests meet a condition.
    ///
    /// # Errors
    /// The requests received within `limit`, if they do not meet it.
    pub async fn wait_until(
        &self,
        limit: Duration,
        met: impl Fn(&[LoggedRequest]) -> bool,
    ) -> Result<(), Vec<LoggedRequest>> {
        let mut total = self.total.subscribe();
        let waiting = async {
            while !met(&self.entries()) {
                if total.changed().await.is_err() {
                    break;
                }
            }
        };
        tokio::time::timeout(limit, waiting).await.map_err(|_| self.entries())
    }

    pub(super) fn record(&self, request: LoggedRequest) {
        let total = crate::locked(&self.entries).add(request);
        self.total.send_replace(total);
    }
}

impl Entries {
    fn add(&mut self, request: LoggedRequest) -> u64 {
        self.counts.total += 1;
        *self.counts.by_resource.entry(request.resource.clone()).or_default() += 1;
        *self.counts.by_user_agent.entry(request.user_agent.clone()).or_default() += 1;
        self.requests.push_back(request);
        if self.requests.len() > CAPACITY {
            self.requests.pop_front();
        }
        self.counts.total
    }
}
