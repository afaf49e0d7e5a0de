//! Receives the callbacks of the proxy-wasm ABI, and calls the root context or the stream that each is for.
//!
//! The SDK has callbacks of its own. They reach a context by a trait with every event of the ABI, gRPC and TCP among them,
//! so all of that would be in the module; and they panic on a context or token that they do not know. The build gives the
//! `own_…` functions here the names of the SDK's (`xtask/src/trim.rs`).
//!
//! The host may call back while a function of the host runs: Envoy creates the context of an upstream stream inside
//! `proxy_http_call`. So a root context is borrowed only while its own callback runs, and that sends nothing.

use crate::callouts::{self, CalloutEvent, Ended};
use crate::host::{self, CalloutAnswer};
use crate::http::{Handler, StreamState};
use crate::root::RootContext;
use crate::upstream_streams::{self, UpstreamResponse};
use crate::vm;
use burst_model::sync::reflector::StreamId;
use foldhash::fast::RandomState;
use proxy_wasm::types::Action;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

thread_local! {
    static CONTEXTS: Contexts = Contexts::default();
}

/// The parent of a stream that no root context handles. No context has this id.
const NO_ROOT: u32 = 0;

/// The contexts of this VM. A stream has an entry only if there is something to remember of it.
#[derive(Default)]
struct Contexts {
    /// The oldest first.
    roots: RefCell<Vec<Root>>,
    /// The root context that was the last one to be alone. A stream without an entry in `parents` belongs to it.
    only_root: Cell<u32>,
    /// The root contexts of the streams that began while there were several.
    parents: RefCell<HashMap<u32, u32, RandomState>>,
    states: RefCell<HashMap<u32, StreamState, RandomState>>,
}

struct Root {
    id: u32,
    context: Rc<RefCell<RootContext>>,
    /// Handles its streams. `None` before its configuration.
    handler: Option<Rc<Handler>>,
}

impl Contexts {
    fn add_root(&self, id: u32) {
        self.roots.borrow_mut().push(Root {
            id,
            context: Rc::new(RefCell::new(RootContext::new(id))),
            handler: None,
        });
        self.note_only_root();
    }

    fn remove_root(&self, id: u32) -> Option<Root> {
        let mut roots = self.roots.borrow_mut();
        let index = roots.iter().position(|root| root.id == id)?;
        let removed = roots.remove(index);
        drop(roots);
        self.note_only_root();
        Some(removed)
    }

    fn note_only_root(&self) {
        if let [only] = &self.roots.borrow()[..] {
            self.only_root.set(only.id);
        }
    }

    fn root(&self, id: u32) -> Option<Rc<RefCell<RootContext>>> {
        let roots = self.roots.borrow();
        let root = roots.iter().find(|root| root.id == id)?;
        Some(root.context.clone())
    }

    fn set_handler(&self, id: u32, handler: Rc<Handler>) {
        if let Some(root) = self.roots.borrow_mut().iter_mut().find(|root| root.id == id) {
            root.handler = Some(handler);
        }
    }

    fn begin_stream(&self, stream: u32, root: u32) {
        if self.roots.borrow().len() > 1 {
            self.parents.borrow_mut().insert(stream, root);
        }
    }

    /// Leaves a stream alone.
    fn ignore_stream(&self, stream: u32) {
        self.parents.borrow_mut().insert(stream, NO_ROOT);
    }

    fn end_stream(&self, stream: u32) {
        self.parents.borrow_mut().remove(&stream);
        let state = self.states.borrow_mut().remove(&stream);
        // Dropped after the borrow has ended.
        drop(state);
    }

    /// The handler of a stream. `None` if its root context is not configured.
    fn handler(&self, stream: u32) -> Option<Rc<Handler>> {
        let parent = self.parents.borrow().get(&stream).copied();
        let root = parent.unwrap_or_else(|| self.only_root.get());
        let roots = self.roots.borrow();
        roots.iter().find(|other| other.id == root)?.handler.clone()
    }

    fn on_request(&self, stream: u32) -> Action {
        let Some(handler) = self.handler(stream) else {
            return Action::Continue;
        };
        let (state, action) = handler.handle_request(stream);
        if let Some(state) = state {
            self.states.borrow_mut().insert(stream, state);
        }
        action
    }

    fn on_response(&self, stream: u32) {
        if let Some(handler) = self.handler(stream) {
            let flags = self.states.borrow().get(&stream).map(|state| state.flags);
            handler.handle_response(flags.unwrap_or_default());
        }
        // No later callback of the stream needs its root context.
        self.parents.borrow_mut().remove(&stream);
    }

    /// Forgets streams that the host no longer knows. Returns the root contexts that it no longer knows.
    fn sweep(&self, current: u32) -> Vec<u32> {
        if self.roots.borrow().len() < 2 && self.parents.borrow().is_empty() {
            return Vec::new();
        }
        let is_gone = |context: u32| context != current && !host::set_effective_context(context);
        self.parents.borrow_mut().retain(|stream, _| !is_gone(*stream));
        let roots: Vec<_> = self.roots.borrow().iter().map(|root| root.id).collect();
        let gone = roots.into_iter().filter(|root| is_gone(*root)).collect();
        host::set_effective_context(current);
        gone
    }
}

/// Runs a callback of a root context, and then sends the callouts that it queued. `None` if there is no such root context.
fn with_root<T>(id: u32, callback: impl FnOnce(&mut RootContext) -> T) -> Option<T> {
    let context = CONTEXTS.with(|contexts| contexts.root(id))?;
    let result = callback(&mut *context.try_borrow_mut().ok()?);
    loop {
        let sent = callouts::send_queued(id);
        if sent.is_empty() {
            return Some(result);
        }
        for (purpose, event) in sent {
            context.borrow_mut().on_callout(purpose, event);
        }
    }
}

/// Passes an event of an upstream stream to the root context that reads it.
fn on_stream(stream: StreamId, event: CalloutEvent<'_>) {
    if let Some((root, purpose)) = callouts::of_stream(stream) {
        with_root(root, |root| root.on_callout(purpose, event));
        callouts::close_one_stream();
    }
}

fn remove_root(id: u32) {
    let removed = CONTEXTS.with(|contexts| contexts.remove_root(id));
    callouts::forget_root(id);
    // Dropped after the borrow has ended: the root context resigns.
    drop(removed);
}

#[unsafe(no_mangle)]
extern "C" fn own_on_context_create(context: u32, root: u32) {
    if root == NO_ROOT {
        CONTEXTS.with(|contexts| contexts.add_root(context));
    } else if !upstream_streams::on_create(context) {
        vm::note_request();
        CONTEXTS.with(|contexts| contexts.begin_stream(context, root));
    } else if cfg!(feature = "header-only") {
        // The full module knows the stream by its id.
        CONTEXTS.with(|contexts| contexts.ignore_stream(context));
    }
}

#[unsafe(no_mangle)]
extern "C" fn own_on_configure(root: u32, _size: usize) -> bool {
    let handler = with_root(root, RootContext::configure).flatten();
    let is_accepted = handler.is_some();
    if let Some(handler) = handler {
        CONTEXTS.with(|contexts| contexts.set_handler(root, handler));
    }
    is_accepted
}

#[unsafe(no_mangle)]
extern "C" fn own_on_tick(root: u32) {
    // The header-only module exports no `on_delete`, so that a stream needs one call less. A root context that is gone is
    // found here by another one; if it was the last one, the VM is gone too.
    let gone = CONTEXTS.with(|contexts| contexts.sweep(root));
    gone.into_iter().for_each(remove_root);
    while let Some(overdue) = callouts::take_overdue(root, host::now()) {
        with_root(root, |root| root.on_callout(overdue.purpose, CalloutEvent::TimedOut));
    }
    with_root(root, RootContext::tick);
    callouts::close_one_stream();
}

#[unsafe(no_mangle)]
extern "C" fn own_on_queue_ready(root: u32, queue: u32) {
    with_root(root, |root| root.on_queue_ready(queue));
}

// The context is the one that was effective when the callout was sent, which may be a stream. The token is unique in the VM.
#[unsafe(no_mangle)]
extern "C" fn own_on_http_call_response(_context: u32, token: u32, headers: usize, body_size: usize, _trailers: usize) {
    let answer = CalloutAnswer {
        has_headers: headers > 0,
        body_size,
    };
    if let Some(Ended { root, purpose, stream }) = callouts::end(token) {
        with_root(root, |root| {
            root.on_callout(purpose, CalloutEvent::Ended(stream, answer));
        });
    }
}

// The header-only module does not export it (`xtask/src/artifact.rs`), and contains nothing that answers requests.
#[unsafe(no_mangle)]
extern "C" fn own_on_request_headers(stream: u32, _count: usize, _end_of_stream: bool) -> Action {
    if cfg!(feature = "header-only") {
        return Action::Continue;
    }
    if upstream_streams::on_request_headers(stream) {
        return Action::Continue;
    }
    CONTEXTS.with(|contexts| contexts.on_request(stream))
}

#[unsafe(no_mangle)]
extern "C" fn own_on_response_headers(stream: u32, _count: usize, _end_of_stream: bool) -> Action {
    match upstream_streams::on_response_headers(stream) {
        UpstreamResponse::OfRequest => CONTEXTS.with(|contexts| contexts.on_response(stream)),
        UpstreamResponse::OfCallout => {}
        UpstreamResponse::Stream(stream) => on_stream(stream, CalloutEvent::Accepted(stream)),
    }
    Action::Continue
}

// The header-only module does not export it: it is no upstream filter.
#[unsafe(no_mangle)]
extern "C" fn own_on_response_body(stream: u32, size: usize, _end_of_stream: bool) -> Action {
    if let Some((stream, chunk)) = upstream_streams::take_body(stream, size) {
        on_stream(stream, CalloutEvent::Chunk(stream, &chunk));
    }
    Action::Continue
}

#[unsafe(no_mangle)]
extern "C" fn own_on_delete(context: u32) {
    if CONTEXTS.with(|contexts| contexts.root(context)).is_some() {
        remove_root(context);
    } else if !upstream_streams::on_delete(context) {
        CONTEXTS.with(|contexts| contexts.end_stream(context));
    }
}
