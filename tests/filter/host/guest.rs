//! The filter's side of the ABI: calls the functions that a module exports, as the real host does.

use super::log::LogLine;
use super::state::{Done, VmState};
use super::{thread, upstream_filter};
use proxy_wasm::types::Action;
use std::ptr;

// The exports of the SDK. Each is safe to call on a thread whose VM has been initialised.
unsafe extern "C" {
    safe fn proxy_on_memory_allocate(size: usize) -> *mut u8;
    safe fn proxy_on_context_create(context: u32, root: u32);
    safe fn proxy_on_delete(context: u32);
    safe fn proxy_on_request_headers(stream: u32, headers: usize, end_of_stream: bool) -> Action;
    safe fn proxy_on_response_headers(stream: u32, headers: usize, end_of_stream: bool) -> Action;
    safe fn proxy_on_vm_start(root: u32, configuration_size: usize) -> bool;
    safe fn proxy_on_configure(root: u32, configuration_size: usize) -> bool;
    safe fn proxy_on_tick(root: u32);
    safe fn proxy_on_queue_ready(root: u32, queue: u32);
    safe fn proxy_on_http_call_response(root: u32, token: u32, headers: usize, body_size: usize, trailers: usize);
    safe fn proxy_on_request_body(stream: u32, size: usize, end_of_stream: bool) -> Action;
    safe fn proxy_on_response_body(stream: u32, size: usize, end_of_stream: bool) -> Action;
    safe fn proxy_on_log(context: u32);
    safe fn proxy_on_done(context: u32) -> bool;
}

/// A module: its `_initialize` function, and the exports that differ between modules.
#[derive(Clone, Copy)]
pub(crate) struct Module {
    /// The `_initialize` that `proxy_wasm::main!` makes.
    pub(crate) initialize: extern "C" fn(),
    pub(crate) context_create: extern "C" fn(u32, u32),
    pub(crate) vm_start: Option<extern "C" fn(u32, usize) -> bool>,
    pub(crate) configure: extern "C" fn(u32, usize) -> bool,
    pub(crate) tick: extern "C" fn(u32),
    pub(crate) queue_ready: extern "C" fn(u32, u32),
    pub(crate) http_call_response: extern "C" fn(u32, u32, usize, usize, usize),
    pub(crate) request_headers: Option<HeadersCallback>,
    pub(crate) response_headers: HeadersCallback,
    pub(crate) response_body: Option<HeadersCallback>,
    pub(crate) delete: Option<extern "C" fn(u32)>,
    /// Whether it has the SDK's callbacks for request bodies, for the access log and for `on_done`.
    pub(crate) has_sdk_callbacks: bool,
    /// Checks a line of its log, after the story.
    pub(crate) check_line: fn(&LogLine),
}

/// The callback for headers, with their number, or for a part of a body, with its size.
pub(crate) type HeadersCallback = extern "C" fn(u32, usize, bool) -> Action;

impl Module {
    /// A module with the SDK's exports only.
    pub(crate) fn sdk_only(initialize: extern "C" fn()) -> Self {
        Self {
            initialize,
            context_create: proxy_on_context_create,
            vm_start: Some(proxy_on_vm_start),
            configure: proxy_on_configure,
            tick: proxy_on_tick,
            queue_ready: proxy_on_queue_ready,
            http_call_response: proxy_on_http_call_response,
            request_headers: Some(proxy_on_request_headers),
            response_headers: proxy_on_response_headers,
            response_body: Some(proxy_on_response_body),
            delete: Some(proxy_on_delete),
            has_sdk_callbacks: true,
            check_line: |_| {},
        }
    }
}

/// Copies bytes into memory that the guest allocates and frees. Returns null for no bytes, as `copyToPointerSize` does.
pub(super) fn copy_in(bytes: &[u8]) -> *mut u8 {
    if bytes.is_empty() {
        return ptr::null_mut();
    }
    let memory = proxy_on_memory_allocate(bytes.len());
    // SAFETY: the guest has just allocated this many bytes.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len()) };
    memory
}

/// The replies and resumed requests of one callback nest on the stack, because each one calls the guest before the next
/// one is carried out. With this filter, Envoy 1.36 and 1.40 trap at the 305th.
const STACK: usize = 300;

/// Reads or changes the state of the VM whose thread this is.
pub(super) fn with<R>(look: impl FnOnce(&mut VmState) -> R) -> R {
    let vm = thread::current().expect("only called on the thread of a VM");
    look(&mut thread::lock(&vm))
}

fn module() -> Module {
    with(|vm| vm.module)
}

/// Calls an export, or returns the value that a host assumes for a missing export.
fn if_exported<R>(absent: R, call: impl FnOnce() -> R) -> R {
    if module().has_sdk_callbacks { call() } else { absent }
}

/// Calls the guest on behalf of a context, then performs the actions that the guest deferred to the end of its callback.
pub(super) fn enter<R>(context: u32, callback: impl FnOnce() -> R) -> R {
    let before = with(|vm| {
        let current = std::mem::replace(&mut vm.current, context);
        (current, vm.effective.take(), std::mem::take(&mut vm.deferred))
    });
    let outer = before.0;
    let result = callback();
    let deferred = with(|vm| {
        let deferred = vm.deferred;
        (vm.current, vm.effective, vm.deferred) = before;
        deferred
    });
    assert!(deferred <= STACK, "Maximum call stack size exceeded");
    while let Some(stream) = with(|vm| vm.pending_resets.pop_front()) {
        // The answer of the callout cannot reach a VM that runs a callback. Envoy 1.36 and 1.40 try again without end.
        assert!(
            outer == 0,
            "Envoy hangs: a callout's stream is reset inside of another callback"
        );
        upstream_filter::reset(stream);
    }
    let deletable = with(|vm| {
        vm.roots
            .iter()
            .find(|(_, root)| root.done == Done::Deletable)
            .map(|(&id, _)| id)
    });
    if let Some(root) = deletable {
        delete(root);
    }
    result
}

pub(super) fn create(context: u32, root: u32) {
    let create = module().context_create;
    enter(context, || create(context, root));
}

pub(super) fn vm_start(root: u32) -> bool {
    module().vm_start.is_none_or(|start| enter(root, || start(root, 0)))
}

pub(super) fn configure(root: u32, size: usize) -> bool {
    let show = |open| with(|vm| vm.roots.get_mut(&root).map_or((), |root| root.configuring = open));
    let configure = module().configure;
    show(true);
    let accepted = enter(root, || configure(root, size));
    show(false);
    accepted
}

pub(super) fn tick(root: u32) {
    let tick = module().tick;
    enter(root, || tick(root));
}

pub(super) fn queue_ready(root: u32, queue: u32) {
    let ready = module().queue_ready;
    enter(root, || ready(root, queue));
}

pub(super) fn http_call_response(root: u32, token: u32, [headers, body_size, trailers]: [usize; 3]) {
    let take = module().http_call_response;
    enter(root, || take(root, token, headers, body_size, trailers));
}

pub(super) fn request_headers(stream: u32, headers: usize, end_of_stream: bool) -> Action {
    let call = |callback: HeadersCallback| enter(stream, || callback(stream, headers, end_of_stream));
    module().request_headers.map_or(Action::Continue, call)
}

pub(super) fn request_body(stream: u32, size: usize) -> Action {
    if_exported(Action::Continue, || {
        enter(stream, || proxy_on_request_body(stream, size, true))
    })
}

pub(super) fn response_headers(stream: u32, headers: usize, end_of_stream: bool) -> Action {
    let callback = module().response_headers;
    enter(stream, || callback(stream, headers, end_of_stream))
}

pub(super) fn response_body(stream: u32, size: usize, end_of_stream: bool) -> Action {
    let call = |callback: HeadersCallback| enter(stream, || callback(stream, size, end_of_stream));
    module().response_body.map_or(Action::Continue, call)
}

pub(super) fn log(context: u32) {
    if_exported((), || enter(context, || proxy_on_log(context)));
}

pub(super) fn done(context: u32) -> bool {
    if_exported(true, || enter(context, || proxy_on_done(context)))
}

/// Calls `on_delete` if the module exports it, then drops the context with its timer and its callouts.
pub(super) fn delete(context: u32) {
    with(|vm| {
        if let Some(root) = vm.roots.get_mut(&context) {
            root.done = Done::Live;
        }
    });
    if let Some(delete) = module().delete {
        enter(context, || delete(context));
    }
    let cancelled = with(|vm| {
        vm.streams.remove(&context);
        vm.roots.remove(&context).map(|root| root.callouts)
    });
    for stream in cancelled.into_iter().flatten().filter_map(|callout| callout.upstream) {
        end_stream(stream);
    }
}

/// Ends a stream, unless it has ended.
pub(super) fn end_stream(stream: u32) {
    if with(|vm| vm.streams.contains_key(&stream)) {
        done(stream);
        delete(stream);
    }
}

/// Ends a root context whose plugin is gone, as soon as no stream uses it any more.
pub(super) fn retire(root: u32) {
    let in_use = with(|vm| vm.streams.values().any(|stream| stream.root == root));
    let next = if in_use {
        Done::Draining
    } else if done(root) {
        return delete(root);
    } else {
        Done::Pending
    };
    with(|vm| {
        if let Some(root) = vm.roots.get_mut(&root) {
            root.done = next;
        }
    });
}

/// Ends the root contexts that waited for their last stream.
pub(super) fn retire_drained() {
    let draining = |vm: &mut VmState| {
        let all = vm.roots.iter().filter(|(_, root)| root.done == Done::Draining);
        all.map(|(&id, _)| id).collect::<Vec<_>>()
    };
    with(draining).into_iter().for_each(retire);
}
