//! The HTTP callouts of this VM: one table says what each callout under way is for.
//!
//! A root context queues its callouts, and `dispatch.rs` sends them after the root context's callback. Envoy may call back
//! into the VM inside `proxy_http_call`, so nothing is borrowed while a callout is sent.

use crate::host;
use burst_metrics_api::ApiVersion;
use burst_model::cluster_reader::ReadPurpose;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

thread_local! {
    static QUEUE: RefCell<Vec<Callout>> = const { RefCell::new(Vec::new()) };
    static UNDER_WAY: RefCell<Vec<UnderWay>> = const { RefCell::new(Vec::new()) };
}

/// What a callout is for.
#[derive(Debug)]
pub(crate) enum Purpose {
    /// A root context sends it as the leader.
    Leader(LeaderPurpose),
    /// A root context asks whether a user may read metrics; the JSON of the SubjectAccessReview.
    Review(Rc<str>),
}

/// What a callout of the leader is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LeaderPurpose {
    /// It reads a list of the Kubernetes API, or the Services of a hub.
    Read(ReadPurpose),
    /// It asks another adapter what it serves.
    AdapterResources(ApiVersion),
    /// It reports the request counts of this proxy to a hub.
    Report,
}

/// A callout to be sent.
#[derive(Debug)]
pub(crate) struct Callout {
    pub(crate) purpose: Purpose,
    pub(crate) cluster: String,
    pub(crate) authority: String,
    pub(crate) method: &'static str,
    pub(crate) path: String,
    /// Headers besides those that every callout has.
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Option<Rc<str>>,
    pub(crate) timeout: Duration,
}

/// A callout that waits for its answer.
struct UnderWay {
    token: u32,
    root: u32,
    purpose: Purpose,
}

/// The header that asks for JSON.
pub(crate) fn accept_json() -> (&'static str, String) {
    ("accept", "application/json".to_owned())
}

/// Queues a callout of the root context whose callback runs.
pub(crate) fn queue(callout: Callout) {
    QUEUE.with_borrow_mut(|queue| queue.push(callout));
}

/// Sends the callouts that the root context queued. Returns those that Envoy refused at once, and why.
pub(crate) fn send_queued(root: u32) -> Vec<(Purpose, String)> {
    let queued = QUEUE.take();
    if !queued.is_empty() {
        // The callback may have answered streams. A host could cancel the callouts of a stream with the stream.
        host::set_effective_context(root);
    }
    let mut refused = Vec::new();
    for callout in queued {
        match send(&callout) {
            Ok(token) => UNDER_WAY.with_borrow_mut(|under_way| {
                under_way.push(UnderWay {
                    token,
                    root,
                    purpose: callout.purpose,
                });
            }),
            Err(reason) => refused.push((callout.purpose, format!("{reason} ({})", callout.cluster))),
        }
    }
    refused
}

fn send(callout: &Callout) -> Result<u32, &'static str> {
    let mut headers = vec![
        (":method", callout.method),
        (":scheme", "https"),
        (":authority", &callout.authority),
        (":path", &callout.path),
        ("user-agent", concat!("burst-metrics/", env!("CARGO_PKG_VERSION"))),
    ];
    headers.extend(callout.headers.iter().map(|(name, value)| (*name, value.as_str())));
    let body = callout.body.as_deref().map(str::as_bytes);
    host::send_callout(&callout.cluster, &headers, body, callout.timeout)
}

/// Takes a callout that has ended out of the table: its root context and its purpose. `None` if nothing waits for it.
pub(crate) fn end(token: u32) -> Option<(u32, Purpose)> {
    UNDER_WAY.with_borrow_mut(|under_way| {
        let index = under_way.iter().position(|callout| callout.token == token)?;
        let ended = under_way.swap_remove(index);
        Some((ended.root, ended.purpose))
    })
}

/// Forgets what a root context sent or queued as the leader; its term is over.
pub(crate) fn forget_leader(root: u32) {
    QUEUE.with_borrow_mut(|queue| queue.retain(|callout| !matches!(callout.purpose, Purpose::Leader(_))));
    UNDER_WAY.with_borrow_mut(|under_way| {
        under_way.retain(|callout| callout.root != root || !matches!(callout.purpose, Purpose::Leader(_)));
    });
}

/// Forgets what a root context sent; it is gone, and Envoy has cancelled its callouts.
pub(crate) fn forget_root(root: u32) {
    UNDER_WAY.with_borrow_mut(|under_way| under_way.retain(|callout| callout.root != root));
}
