//! What all root contexts of one VM share. Envoy gives each thread one VM for all configurations of the filter: the one
//! that serves and those that are draining.

use crate::host;
use crate::shared_data::{EnvoySharedData, LazyId};
use crate::stats::Stats;
use burst_model::budget::{Budget, Permit};
use burst_model::config::{Artifact, Config};
use burst_model::sync::election::VmId;
use burst_shared_data::new_vm_id;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

/// The module that this is.
pub(crate) const ARTIFACT: Artifact = if cfg!(feature = "header-only") {
    Artifact::HeaderOnly
} else {
    Artifact::Full
};

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
    /// The root contexts that may lead, the newest last.
    candidates: RefCell<Vec<Candidate>>,
}

/// Capacity of this VM that requests take. Separate from [`Vm`], because the header-only module answers no requests.
#[derive(Default)]
struct Budgets {
    waiting: Rc<Budget<MAX_WAITING>>,
    bulk: Rc<Budget<MAX_BULK_BYTES>>,
    long_polls: Rc<Budget<MAX_LONG_POLLS>>,
}

/// A root context that may lead a part of its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// The hash of its settings. The candidates of this VM with the same hash share a lease: the root context of a new
    /// configuration, older ones that are draining, those of several listeners.
    settings: u64,
    /// The snapshot that it would write has labels.
    keeps_labels: bool,
    root: u32,
}

impl Candidate {
    pub(crate) fn new(config: &Config, root: u32) -> Self {
        Self {
            settings: config.settings_hash(),
            keeps_labels: config.keeps_labels(),
            root,
        }
    }

    /// Adds it as the newest.
    pub(crate) fn add(self) {
        VM.with(|vm| vm.candidates.borrow_mut().push(self));
    }

    /// Whether it is the one that may lead: the newest of those that keep labels, or else the newest.
    pub(crate) fn is_first(self) -> bool {
        VM.with(|vm| {
            let candidates = vm.candidates.borrow();
            let same = candidates.iter().filter(|other| other.settings == self.settings);
            same.max_by_key(|candidate| candidate.keeps_labels) == Some(&self)
        })
    }

    /// Removes it: its root context is gone.
    pub(crate) fn remove(self) {
        VM.with(|vm| vm.candidates.borrow_mut().retain(|candidate| *candidate != self));
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
