//! What the root contexts of one VM have in common. Envoy gives a thread one VM for all configurations of the filter,
//! the one that serves and those in their drain; one VM runs on one thread.

use crate::requests::RequestCounter;
use crate::root::unique_id;
use crate::stats::Stats;
use burst_model::budget::{Budget, Permit};
use burst_model::sync::election::VmId;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::{Rc, Weak};

/// Requests that wait for reviews. Each keeps its headers, at most 60 KB unless Envoy is told otherwise.
pub(crate) const MOST_WAITING: usize = 256;

/// Bytes of bulk answers under way. Envoy keeps a copy of each until its client has taken it.
const MOST_BULK: usize = 32 << 20;

/// Held by a stream for as long as its bulk answer is under way.
pub(crate) type BulkPermit = Permit<MOST_BULK>;

thread_local! {
    static VM: Vm = Vm::default();
    static BUDGETS: Budgets = Budgets::default();
}

#[derive(Default)]
struct Vm {
    served: Cell<bool>,
    id: Cell<Option<VmId>>,
    stats: OnceCell<Rc<Stats>>,
    /// The root contexts that may poll, each behind the hash of its settings, the newest last.
    pollers: RefCell<Vec<(u64, u32)>>,
    /// What is counted, by the hash of the settings that it is counted with, for as long as a root context does.
    counters: RefCell<Vec<(u64, Weak<RequestCounter>)>>,
}

/// What requests that are under way take of this VM. Apart from [`Vm`], as the header-only module answers no requests.
#[derive(Default)]
struct Budgets {
    waiting: Rc<Budget<MOST_WAITING>>,
    bulk: Rc<Budget<MOST_BULK>>,
}

/// The root contexts of this VM that may poll for the same settings, and so would share a lease: that of a new
/// configuration and those before it, in their drain; or those of several listeners. The newest does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PollerGroup {
    settings: u64,
}

impl PollerGroup {
    /// Those for settings of that hash. Others have a lease of their own, and nobody else to poll for them.
    pub(crate) fn of(settings: u64) -> Self {
        Self { settings }
    }

    /// Adds a root context, as the newest.
    pub(crate) fn join(self, context_id: u32) {
        VM.with(|vm| {
            vm.pollers.borrow_mut().push((self.settings, context_id));
        });
    }

    /// Whether no newer root context is there.
    pub(crate) fn is_newest(self, context_id: u32) -> bool {
        VM.with(|vm| {
            let pollers = vm.pollers.borrow();
            let newest = pollers.iter().rfind(|(settings, _)| *settings == self.settings);
            newest.is_some_and(|(_, newest)| *newest == context_id)
        })
    }

    /// Takes a root context out that is done; the newest of those that are left polls.
    pub(crate) fn leave(self, context_id: u32) {
        VM.with(|vm| {
            let gone = (self.settings, context_id);
            vm.pollers.borrow_mut().retain(|poller| *poller != gone);
        });
    }
}

/// A request came to this VM.
pub(crate) fn note_request() {
    VM.with(|vm| vm.served.set(true));
}

/// Whether a request ever came to this VM. Envoy's main thread has a VM that none comes to.
pub(crate) fn has_served() -> bool {
    VM.with(|vm| vm.served.get())
}

/// A number that no other VM of this proxy has. `None` where others are faster this time.
pub(crate) fn id() -> Option<VmId> {
    VM.with(|vm| {
        vm.id.set(vm.id.get().or_else(unique_id));
        vm.id.get()
    })
}

/// The stats of this VM, defined on the first call.
pub(crate) fn stats() -> Rc<Stats> {
    VM.with(|vm| vm.stats.get_or_init(|| Rc::new(Stats::define())).clone())
}

/// The counter of this VM for settings of that hash, made on the first call.
pub(crate) fn counter(counting: u64, make: impl FnOnce() -> RequestCounter) -> Rc<RequestCounter> {
    VM.with(|vm| {
        let mut counters = vm.counters.borrow_mut();
        counters.retain(|(_, counter)| counter.strong_count() > 0);
        let known = counters.iter().find(|(known, _)| *known == counting);
        known.and_then(|(_, counter)| counter.upgrade()).unwrap_or_else(|| {
            let counter = Rc::new(make());
            counters.push((counting, Rc::downgrade(&counter)));
            counter
        })
    })
}

/// Lets a request wait for a review; `None` where as many wait as may.
pub(crate) fn permit_to_wait() -> Option<Permit<MOST_WAITING>> {
    BUDGETS.with(|budgets| budgets.waiting.take(1))
}

/// Lets a bulk answer of that size set out; `None` where there is no room for it beside those under way.
pub(crate) fn permit_bulk(size: usize) -> Option<BulkPermit> {
    BUDGETS.with(|budgets| budgets.bulk.take(size))
}
