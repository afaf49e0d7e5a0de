//! The HTTP callouts of this VM: one table says what each callout under way is for.
//!
//! A root context queues its callouts, and `dispatch.rs` sends them after the root context's callback. Envoy may call back
//! into the VM inside `proxy_http_call`, so nothing is borrowed while a callout is sent.

use crate::host::{self, CalloutAnswer};
use crate::upstream_streams::{self, SentBy, StreamCallout};
use burst_metrics_api::ApiVersion;
use burst_model::cluster_reader::ReadPurpose;
use burst_model::config::Part;
use burst_model::sync::reflector::StreamId;
use burst_model::time::Time;
use burst_shared_data::ReadEvent;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

thread_local! {
    static QUEUE: RefCell<Vec<Callout>> = const { RefCell::new(Vec::new()) };
    /// The streams to be closed.
    static CLOSING: RefCell<Vec<StreamId>> = const { RefCell::new(Vec::new()) };
    static UNDER_WAY: RefCell<Vec<UnderWay>> = const { RefCell::new(Vec::new()) };
    /// Whether the upstream filter saw the last callout to the API server.
    static HAS_UPSTREAM_FILTER: Cell<bool> = const { Cell::new(true) };
}

/// What a callout is for.
#[derive(Clone, Debug)]
pub(crate) enum Purpose {
    /// A root context sends it as the leader of that part of its configuration.
    Leader(Part, LeaderPurpose),
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
    /// It reads the peer of this index in the configuration.
    Peer(usize),
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
    /// What the upstream filter makes of it.
    pub(crate) stream: Option<StreamCallout>,
}

/// A callout that waits for its answer.
struct UnderWay {
    token: u32,
    root: u32,
    purpose: Purpose,
    /// Its upstream stream, by the context, if the filter reads it.
    stream: Option<StreamId>,
    /// When it has to end, if Envoy would let it take longer. A callout is sent with the timeout of its stream form, and only
    /// then does the filter know whether it has that form.
    deadline: Option<Time>,
}

/// What happens to a callout.
pub(crate) type CalloutEvent<'a> = ReadEvent<'a, CalloutAnswer>;

/// A callout that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) root: u32,
    pub(crate) purpose: Purpose,
    pub(crate) stream: Option<StreamId>,
}

/// The header that asks for JSON.
pub(crate) fn accept_json() -> (&'static str, String) {
    ("accept", "application/json".to_owned())
}

/// Queues a callout of the root context whose callback runs.
pub(crate) fn queue(callout: Callout) {
    QUEUE.with_borrow_mut(|queue| queue.push(callout));
}

/// Sends the callouts that the root context queued. Returns those that Envoy refused at once, and those whose response the
/// filter reads as it arrives.
pub(crate) fn send_queued(root: u32) -> Vec<(Purpose, CalloutEvent<'static>)> {
    let queued = QUEUE.take();
    if !queued.is_empty() {
        // The callback may have answered streams. A host could cancel the callouts of a stream with the stream.
        host::set_effective_context(root);
    }
    queued.into_iter().filter_map(|callout| send(root, callout)).collect()
}

fn send(root: u32, mut callout: Callout) -> Option<(Purpose, CalloutEvent<'static>)> {
    let is_readable = callout.stream.is_some();
    let form = callout.stream.take().filter(|_| HAS_UPSTREAM_FILTER.get());
    let timeout = form.as_ref().map_or(callout.timeout, |form| form.timeout);
    let (result, sent_by) = upstream_streams::sending(form, || dispatch(&callout, timeout));
    let token = match result {
        Ok(token) => token,
        Err(reason) => {
            let refused = CalloutEvent::Refused(format!("{reason} ({})", callout.cluster));
            return Some((callout.purpose, refused));
        }
    };
    if is_readable {
        HAS_UPSTREAM_FILTER.set(sent_by != SentBy::Envoy);
    }
    let stream = match sent_by {
        SentBy::Stream(stream) => Some(stream),
        SentBy::Envoy | SentBy::UpstreamFilter => None,
    };
    let is_too_long = stream.is_none() && timeout > callout.timeout;
    let opened = stream.map(|stream| (callout.purpose.clone(), CalloutEvent::Opened(stream)));
    UNDER_WAY.with_borrow_mut(|under_way| {
        under_way.push(UnderWay {
            token,
            root,
            purpose: callout.purpose,
            stream,
            deadline: is_too_long.then(|| host::now().after(callout.timeout)),
        });
    });
    opened
}

fn dispatch(callout: &Callout, timeout: Duration) -> Result<u32, &'static str> {
    let mut headers = vec![
        (":method", callout.method),
        (":scheme", "https"),
        (":authority", &callout.authority),
        (":path", &callout.path),
        ("user-agent", concat!("burst-metrics/", env!("CARGO_PKG_VERSION"))),
    ];
    headers.extend(callout.headers.iter().map(|(name, value)| (*name, value.as_str())));
    let body = callout.body.as_deref().map(str::as_bytes);
    host::send_callout(&callout.cluster, &headers, body, timeout)
}

/// Takes a callout that has ended out of the table. `None` if nothing waits for it.
pub(crate) fn end(token: u32) -> Option<Ended> {
    take(|callout| callout.token == token)
}

/// Takes a callout of a root context that has taken too long out of the table. Nothing waits for its answer any more.
pub(crate) fn take_overdue(root: u32, now: Time) -> Option<Ended> {
    take(|callout| callout.root == root && callout.deadline.is_some_and(|deadline| deadline <= now))
}

fn take(is_wanted: impl FnMut(&UnderWay) -> bool) -> Option<Ended> {
    UNDER_WAY.with_borrow_mut(|under_way| {
        let index = under_way.iter().position(is_wanted)?;
        let UnderWay {
            root, purpose, stream, ..
        } = under_way.swap_remove(index);
        Some(Ended { root, purpose, stream })
    })
}

/// The root context and the purpose of the callout whose response is this stream.
pub(crate) fn of_stream(stream: StreamId) -> Option<(u32, Purpose)> {
    UNDER_WAY.with_borrow(|under_way| {
        let callout = under_way.iter().find(|callout| callout.stream == Some(stream))?;
        Some((callout.root, callout.purpose.clone()))
    })
}

/// Forgets the callout of a stream, and queues that the stream is closed.
pub(crate) fn queue_close(stream: StreamId) {
    take(|callout| callout.stream == Some(stream));
    CLOSING.with_borrow_mut(|closing| closing.push(stream));
}

/// Closes one of the streams that were queued for it; the others follow in later callbacks. Call it at the end of a callback:
/// a thread of Envoy (1.36.2 and 1.40.0) hangs if a callout is sent between the closing of a stream and the end of the callback,
/// and the answers to the callouts of two streams that were closed in one callback come within one callback, too.
pub(crate) fn close_one_stream() {
    if let Some(stream) = CLOSING.with_borrow_mut(Vec::pop) {
        upstream_streams::close(stream.number());
    }
}

/// Forgets what a root context sent or queued as the leader of a part, and queues that its streams are closed; its term is
/// over.
pub(crate) fn forget_leader(root: u32, part: Part) {
    let is_of_leader = |purpose: &Purpose| matches!(purpose, Purpose::Leader(of, _) if *of == part);
    QUEUE.with_borrow_mut(|queue| queue.retain(|callout| !is_of_leader(&callout.purpose)));
    while let Some(ended) = take(|callout| callout.root == root && is_of_leader(&callout.purpose)) {
        ended.stream.into_iter().for_each(queue_close);
    }
}

/// Forgets what a root context sent; it is gone, and Envoy has cancelled its callouts.
pub(crate) fn forget_root(root: u32) {
    while take(|callout| callout.root == root).is_some() {}
}
