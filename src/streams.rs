//! The streams of this VM: the callbacks of requests and responses, in place of the SDK's.
//!
//! The SDK makes an object for each stream, and finds and drops it again. Here a stream is a number, unless there is
//! something to remember of it; and whose it is counts only while there are several root contexts. The build gives the
//! `own_…` functions the SDK's names (`xtask/src/trim.rs`).
//!
//! The header-only module does not hear of a context's end, so that a request is one call shorter. What is gone is found
//! in the next tick of another root context; with the last one the VM goes too.

use crate::host;
use crate::http::{self, StreamState, View};
use crate::roots;
use crate::vm::{self, BulkPermit};
use foldhash::fast::RandomState;
use proxy_wasm::types::Action;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

thread_local! {
    static STREAMS: Streams = Streams::default();
}

type ByStream<T> = HashMap<u32, T, RandomState>;

#[derive(Default)]
struct Streams {
    /// The root contexts, the oldest first, and what their streams look at once they are configured.
    roots: RefCell<Vec<(u32, Option<Rc<View>>)>>,
    /// The root context that was the only one last: the streams are its that no other is known of.
    alone: Cell<u32>,
    /// The root contexts of the streams that came while there were several.
    parents: RefCell<ByStream<u32>>,
    remembered: RefCell<ByStream<StreamState>>,
}

impl Streams {
    fn join(&self, root: u32) {
        self.roots.borrow_mut().push((root, None));
        self.count();
    }

    fn leave(&self, root: u32) {
        self.roots.borrow_mut().retain(|(other, _)| *other != root);
        self.count();
    }

    fn count(&self) {
        if let [(root, _)] = self.roots.borrow()[..] {
            self.alone.set(root);
        }
    }

    fn has_root(&self, context: u32) -> bool {
        self.roots.borrow().iter().any(|(root, _)| *root == context)
    }

    fn begin(&self, stream: u32, root: u32) {
        if self.roots.borrow().len() > 1 {
            self.parents.borrow_mut().insert(stream, root);
        }
    }

    fn end(&self, stream: u32) {
        self.parents.borrow_mut().remove(&stream);
        let remembered = self.remembered.borrow_mut().remove(&stream);
        // Not before: what is dropped with it may look here too.
        drop(remembered);
    }

    /// What a stream looks at; `None` where its root context has none.
    fn view(&self, stream: u32) -> Option<Rc<View>> {
        let parent = self.parents.borrow().get(&stream).copied();
        let parent = parent.unwrap_or_else(|| self.alone.get());
        let roots = self.roots.borrow();
        let (_, view) = roots.iter().find(|(root, _)| *root == parent)?;
        view.clone()
    }

    fn request(&self, stream: u32) -> Action {
        let Some(view) = self.view(stream) else {
            return Action::Continue;
        };
        let (remembered, action) = http::handle_request(&view, stream);
        if let Some(remembered) = remembered {
            self.remembered.borrow_mut().insert(stream, remembered);
        }
        action
    }

    fn response(&self, stream: u32) {
        if let Some(view) = self.view(stream) {
            http::handle_response(&view, self.remembered.borrow().get(&stream));
        }
        // Nothing comes after it that asks.
        self.parents.borrow_mut().remove(&stream);
    }

    /// Lets those go that the host does not know any more; the root contexts among them.
    fn sweep(&self, by: u32) -> Vec<u32> {
        if self.roots.borrow().len() < 2 && self.parents.borrow().is_empty() {
            return Vec::new();
        }
        let is_gone = |context: u32| context != by && !host::set_effective_context(context);
        self.parents.borrow_mut().retain(|stream, _| !is_gone(*stream));
        let gone = self
            .roots
            .borrow()
            .iter()
            .map(|(root, _)| *root)
            .filter(|root| is_gone(*root))
            .collect();
        host::set_effective_context(by);
        gone
    }
}

/// From here on this is what the streams of a root context look at.
pub(crate) fn show(root: u32, view: &Rc<View>) {
    STREAMS.with(|streams| {
        let mut roots = streams.roots.borrow_mut();
        if let Some((_, shown)) = roots.iter_mut().find(|(other, _)| *other == root) {
            *shown = Some(view.clone());
        }
    });
}

/// Takes note that a stream that waited is answered; it holds the permit of a bulk reply until its end.
pub(crate) fn waits_no_more(stream: u32, bulk: Option<BulkPermit>) {
    let waited = STREAMS.with(|streams| {
        let mut remembered = streams.remembered.borrow_mut();
        remembered.get_mut(&stream).and_then(|own| own.end_wait(bulk))
    });
    // Not before: it looks around for who waits.
    drop(waited);
}

/// Ends the root contexts that the host does not know any more.
pub(crate) fn sweep(by: u32) {
    STREAMS.with(|streams| streams.sweep(by)).into_iter().for_each(close);
}

#[unsafe(no_mangle)]
extern "C" fn own_on_context_create(context: u32, root: u32) {
    if root == 0 {
        STREAMS.with(|streams| streams.join(context));
        roots::open(context);
    } else {
        vm::note_request();
        STREAMS.with(|streams| streams.begin(context, root));
    }
}

// Not called in the header-only module, which does not export it (`xtask/src/artifact.rs`); what answers requests is not
// in it either.
#[unsafe(no_mangle)]
extern "C" fn own_on_request_headers(stream: u32, _count: usize, _end_of_stream: bool) -> Action {
    if cfg!(feature = "header-only") {
        return Action::Continue;
    }
    STREAMS.with(|streams| streams.request(stream))
}

#[unsafe(no_mangle)]
extern "C" fn own_on_response_headers(stream: u32, _count: usize, _end_of_stream: bool) -> Action {
    STREAMS.with(|streams| streams.response(stream));
    Action::Continue
}

#[unsafe(no_mangle)]
extern "C" fn own_on_delete(context: u32) {
    if STREAMS.with(|streams| streams.has_root(context)) {
        close(context);
    } else {
        STREAMS.with(|streams| streams.end(context));
    }
}

/// Ends a root context.
fn close(root: u32) {
    STREAMS.with(|streams| streams.leave(root));
    roots::close(root);
}
