//! The upstream streams of callouts. If this filter is also an upstream HTTP filter of the API server's cluster, Envoy passes
//! every callout through it: it makes a stream context inside `proxy_http_call`, and gives it each part of the response as it
//! arrives. So a watch can stay open and bring each change at once.
//!
//! Only a stream that begins while a callout is sent belongs to that callout. So a stream of another VM, or of other traffic
//! to the cluster, is never taken for one.

use crate::host;
use burst_model::sync::reflector::StreamId;
use std::cell::RefCell;
use std::time::Duration;

thread_local! {
    static SENDING: RefCell<Option<Sending>> = const { RefCell::new(None) };
    static STREAMS: RefCell<Vec<UpstreamStream>> = const { RefCell::new(Vec::new()) };
}

/// The header-only module sees no requests, so it reads no streams. As an upstream filter it leaves every callout alone.
const COMPILED_OUT: bool = cfg!(feature = "header-only");

/// The form of a callout whose response the filter reads as it arrives.
#[derive(Debug)]
pub(crate) struct StreamCallout {
    pub(crate) path: String,
    /// The `accept` header, if it is another one than that of the callout.
    pub(crate) accept: Option<&'static str>,
    pub(crate) timeout: Duration,
}

/// The callout that is being sent.
#[derive(Default)]
struct Sending {
    /// Its stream form. `None` if it has none.
    form: Option<StreamCallout>,
    /// The context of its upstream stream.
    context: Option<u32>,
    /// Whether the upstream filter heard of the request.
    was_seen: bool,
}

/// The upstream stream of a callout.
struct UpstreamStream {
    context: u32,
    state: UpstreamState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum UpstreamState {
    /// The filter leaves it alone.
    Ignored,
    /// The filter has given the request its stream form, and waits for the response.
    Requested,
    /// The response is a success. The filter takes its body.
    Open,
}

/// What a response is the response to.
pub(crate) enum UpstreamResponse {
    /// A request of the listener.
    OfRequest,
    /// A callout whose response Envoy collects, as it does for each error.
    OfCallout,
    /// A callout whose response the filter reads as it arrives.
    Stream(StreamId),
}

/// How a callout was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SentBy {
    /// The filter heard nothing of it: it is no upstream filter of that cluster, or its streams belong to another VM.
    Envoy,
    /// The filter heard of it, and it has no stream form.
    UpstreamFilter,
    /// The filter gave it its stream form.
    Stream(StreamId),
}

/// Calls `send`, which sends a callout. `form` is its stream form.
pub(crate) fn sending<T>(form: Option<StreamCallout>, send: impl FnOnce() -> T) -> (T, SentBy) {
    SENDING.set(Some(Sending {
        form,
        ..Sending::default()
    }));
    let result = send();
    let sent = SENDING.take().unwrap_or_default();
    let is_owned = |context: &u32| state(*context) == Some(UpstreamState::Requested);
    let sent_by = match sent.context.filter(is_owned).and_then(StreamId::new) {
        Some(stream) => SentBy::Stream(stream),
        None if sent.was_seen => SentBy::UpstreamFilter,
        None => SentBy::Envoy,
    };
    (result, sent_by)
}

/// Notes a new stream context. Returns whether it belongs to a callout. If a cluster has this filter more than once, the first
/// context of a callout reads its stream, and the others leave it alone.
pub(crate) fn on_create(context: u32) -> bool {
    if COMPILED_OUT {
        return SENDING.with_borrow(Option::is_some);
    }
    let is_ours = SENDING.with_borrow_mut(|sending| {
        let sending = sending.as_mut()?;
        Some(*sending.context.get_or_insert(context))
    });
    if is_ours.is_some() {
        STREAMS.with_borrow_mut(|streams| {
            streams.push(UpstreamStream {
                context,
                state: UpstreamState::Ignored,
            });
        });
    }
    is_ours.is_some()
}

/// Handles the request headers of a stream. Returns whether it belongs to a callout.
pub(crate) fn on_request_headers(context: u32) -> bool {
    if COMPILED_OUT || state(context).is_none() {
        return false;
    }
    let form = SENDING.with_borrow_mut(|sending| {
        let sending = sending.as_mut().filter(|sending| sending.context == Some(context))?;
        sending.was_seen = true;
        sending.form.take()
    });
    if let Some(form) = form {
        host::set_request_header(":path", &form.path);
        if let Some(accept) = form.accept {
            host::set_request_header("accept", accept);
        }
        set_state(context, UpstreamState::Requested);
    }
    true
}

/// Handles the response headers of a stream. The filter takes only the body of a success.
pub(crate) fn on_response_headers(context: u32) -> UpstreamResponse {
    let (Some(stream), Some(state)) = (StreamId::new(context), state(context)) else {
        return UpstreamResponse::OfRequest;
    };
    let is_open = state == UpstreamState::Requested && host::response_header(":status").as_deref() == Some(b"200");
    if is_open {
        set_state(context, UpstreamState::Open);
        UpstreamResponse::Stream(stream)
    } else {
        set_state(context, UpstreamState::Ignored);
        UpstreamResponse::OfCallout
    }
}

/// Takes a part of the body away from Envoy, which collects nothing then. `None` if the filter leaves the stream alone.
pub(crate) fn take_body(context: u32, size: usize) -> Option<(StreamId, Vec<u8>)> {
    let stream = StreamId::new(context).filter(|_| state(context) == Some(UpstreamState::Open))?;
    Some((stream, host::take_response_body(size)))
}

/// Forgets a stream at its end. Returns whether it belonged to a callout.
pub(crate) fn on_delete(context: u32) -> bool {
    STREAMS.with_borrow_mut(|streams| {
        let index = streams.iter().position(|stream| stream.context == context);
        index.map(|index| streams.swap_remove(index)).is_some()
    })
}

/// Ends a stream, and so its callout.
pub(crate) fn close(context: u32) {
    // Envoy tells of the end within the call.
    set_state(context, UpstreamState::Ignored);
    if host::set_effective_context(context) {
        host::reset_response();
    }
}

fn state(context: u32) -> Option<UpstreamState> {
    STREAMS.with_borrow(|streams| {
        let stream = streams.iter().find(|stream| stream.context == context)?;
        Some(stream.state)
    })
}

fn set_state(context: u32, state: UpstreamState) {
    STREAMS.with_borrow_mut(|streams| {
        if let Some(stream) = streams.iter_mut().find(|stream| stream.context == context) {
            stream.state = state;
        }
    });
}
