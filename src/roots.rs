//! The root contexts of this VM: their callbacks, in place of the SDK's.
//!
//! The SDK reaches a context through a trait that has all it could be told and could ask, gRPC and TCP among it, and what
//! can be reached is in the module: 4 % of it. It panics, too, where a context or a callout is none that it knows.

use crate::root::RootContext;
use crate::streams;
use std::cell::RefCell;
use std::rc::Rc;

type Shared = Rc<RefCell<RootContext>>;

thread_local! {
    static ROOTS: RefCell<Vec<(u32, Shared)>> = const { RefCell::new(Vec::new()) };
}

/// A new root context, which is not configured yet.
pub(crate) fn open(context: u32) {
    let root = Rc::new(RefCell::new(RootContext::new(context)));
    ROOTS.with_borrow_mut(|roots| roots.push((context, root)));
}

/// Ends a root context.
pub(crate) fn close(context: u32) {
    let gone = ROOTS.with_borrow_mut(|roots| {
        let place = roots.iter().position(|(own, _)| *own == context)?;
        Some(roots.swap_remove(place))
    });
    // Not before: it leaves its office, and looks around for that.
    drop(gone);
}

fn find(context: u32) -> Option<Shared> {
    ROOTS.with_borrow(|roots| {
        let (_, root) = roots.iter().find(|(own, _)| *own == context)?;
        Some(root.clone())
    })
}

fn all() -> Vec<Shared> {
    ROOTS.with_borrow(|roots| roots.iter().map(|(_, root)| root.clone()).collect())
}

#[unsafe(no_mangle)]
extern "C" fn own_on_configure(context: u32, _size: usize) -> bool {
    find(context).is_some_and(|root| root.borrow_mut().configure())
}

#[unsafe(no_mangle)]
extern "C" fn own_on_tick(context: u32) {
    streams::sweep(context);
    if let Some(root) = find(context) {
        root.borrow_mut().tick();
    }
}

#[unsafe(no_mangle)]
extern "C" fn own_on_queue_ready(context: u32, queue: u32) {
    if let Some(root) = find(context) {
        root.borrow_mut().on_wake(queue);
    }
}

// A callout is of the context that the host took it for, which may be a stream that a root context spoke for. A token is
// of one callout of the VM, so whoever does not know it leaves it alone.
#[unsafe(no_mangle)]
extern "C" fn own_on_http_call_response(context: u32, token: u32, headers: usize, body_size: usize, _trailers: usize) {
    let asked = find(context).map_or_else(all, |root| vec![root]);
    for root in asked {
        root.borrow_mut().answer(token, headers > 0, body_size);
    }
}
