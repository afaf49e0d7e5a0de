//! What all root contexts of one VM share. Envoy gives each thread one VM for all configurations of the filter: the one
//! that serves and those that are draining.

use crate::host;
use crate::shared_data::{EnvoySharedData, LazyId};
use crate::stats::Stats;
use burst_model::budget::{Budget, Permit};
use burst_model::sync::election::VmId;
use burst_shared_data::new_vm_id;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

/// Requests that may wait for a SubjectAccessReview. Each keeps its headers, 60 KB at most by Envoy's default.
pub(crate) const MAX_WAITING: usize = 256;

/// Bytes of bulk replies that may be under way. Envoy keeps a copy of each until its client has read it.
const MAX_BULK_BYTES: usize = 32 << 20;

/// Requests for `/burstmetrics` that may wait for a change. Each keeps its headers, as above.
const MAX_LONG_POLLS: usize = 256;

/// A stream holds it as long as its bulk reply is under way.
pub(crate) type BulkPermit = Permit<MAX_BULK_BYTES>;

/// Where the permit of a bulk reply goes if the request waits for its reply. The stream holds the other end.
pub(crate) type BulkSlot = Rc<Cell<Option<BulkPermit>>>;

/// Kept with a request that waits for a change.
pub(crate) type LongPollPermit = Permit<MAX_LONG_POLLS>;

thread_local! {
    static VM: VmState = VmState::default();
    static BUDGETS: Budgets = Budgets::default();
}

#[derive(Default)]
struct VmState {
    has_served: Cell<bool>,
    id: Rc<LazyId>,
    stats: OnceCell<Rc<Stats>>,
    /// The root contexts that may lead, each with the hash of its settings, the newest last.
    candidates: RefCell<Vec<(u64, u32)>>,
}

/// Capacity of this VM that requests take. Separate from [`Vm`], because the header-only module answers no requests.
#[derive(Default)]
struct Budgets {
    waiting: Rc<Budget<MAX_WAITING>>,
    bulk: Rc<Budget<MAX_BULK_BYTES>>,
    long_polls: Rc<Budget<MAX_LONG_POLLS>>,
}

/// The root contexts of this VM that have the same settings, and so share a lease: one of a new configuration, older ones
/// that are draining, those of several listeners. Only the newest may lead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidates {
    settings: u64,
}

impl Candidates {
    /// The candidates with settings of that hash.
    pub(crate) fn of(settings: u64) -> Self {
        Self { settings }
    }

    /// Adds a root context as the newest.
    pub(crate) fn add(self, root: u32) {
        VM.with(|vm| vm.candidates.borrow_mut().push((self.settings, root)));
    }

    /// Whether this root context is the newest candidate.
    pub(crate) fn is_newest(self, root: u32) -> bool {
        VM.with(|vm| {
            let candidates = vm.candidates.borrow();
            let newest = candidates.iter().rfind(|(settings, _)| *settings == self.settings);
            newest.is_some_and(|(_, newest)| *newest == root)
        })
    }

    /// Removes a root context that is gone.
    pub(crate) fn remove(self, root: u32) {
        let gone = (self.settings, root);
        VM.with(|vm| vm.candidates.borrow_mut().retain(|candidate| *candidate != gone));
    }
}

/// Notes that a request came to this VM.
pub(crate) fn note_request() {
    VM.with(|vm| vm.has_served.set(true));
}

/// Whether a request ever came to this VM. No request comes to the VM of Envoy's main thread.
pub(crate) fn has_served() -> bool {
    VM.with(|vm| vm.has_served.get())
}

/// A number that no other VM of this proxy has.
pub(crate) fn id() -> Rc<LazyId> {
    VM.with(|vm| vm.id.clone())
}

/// Registers a shared queue that wakes the current root context. `None` if other VMs take numbers at the same moment.
pub(crate) fn register_wake_queue() -> Option<u32> {
    let VmId(id) = new_vm_id::<EnvoySharedData>()?;
    host::register_shared_queue(&format!("burst-metrics/wake/{id}"))
}

/// The stats of this VM. The first call defines them.
pub(crate) fn stats() -> Rc<Stats> {
    VM.with(|vm| vm.stats.get_or_init(|| Rc::new(Stats::define())).clone())
}

/// Lets a request wait for a review. `None` if [`MAX_WAITING`] requests wait already.
pub(crate) fn permit_to_wait() -> Option<Permit<MAX_WAITING>> {
    BUDGETS.with(|budgets| budgets.waiting.take(1))
}

/// Lets a request wait for a change. `None` if [`MAX_LONG_POLLS`] requests wait already.
pub(crate) fn permit_long_poll() -> Option<LongPollPermit> {
    BUDGETS.with(|budgets| budgets.long_polls.take(1))
}

/// Lets a bulk reply of that size be sent. `None` if the replies under way leave no capacity for it.
pub(crate) fn permit_bulk(size: usize) -> Option<BulkPermit> {
    BUDGETS.with(|budgets| budgets.bulk.take(size))
}
