//! What the root contexts of one VM have in common. Envoy gives a thread one VM for all configurations of the filter,
//! the one that serves and those in their drain; one VM runs on one thread.

use crate::host;
use crate::stats::Stats;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

thread_local! {
    static VM: Vm = Vm::default();
}

#[derive(Default)]
struct Vm {
    served: Cell<bool>,
    stats: OnceCell<Rc<Stats>>,
    /// The root context that was configured last, by plugin.
    newest: RefCell<BTreeMap<Plugin, u32>>,
}

/// Which plugin a root context is of. Its configurations, one after the other, are of the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Plugin {
    name: Vec<u8>,
    root_id: Vec<u8>,
}

impl Plugin {
    /// The plugin of the root context that the host is calling.
    pub(crate) fn current() -> Self {
        let part = |name| host::property(&[name]).unwrap_or_default();
        Self {
            name: part("plugin_name"),
            root_id: part("plugin_root_id"),
        }
    }

    /// Makes a root context the one that polls for its plugin, of all those in this VM.
    pub(crate) fn succeed(&self, context_id: u32) {
        VM.with(|vm| vm.newest.borrow_mut().insert(self.clone(), context_id));
    }

    /// Whether no newer root context took over.
    pub(crate) fn is_newest(&self, context_id: u32) -> bool {
        VM.with(|vm| vm.newest.borrow().get(self) == Some(&context_id))
    }

    /// Forgets a root context that is done.
    pub(crate) fn forget(&self, context_id: u32) {
        VM.with(|vm| {
            vm.newest
                .borrow_mut()
                .retain(|plugin, newest| plugin != self || *newest != context_id);
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

/// The stats of this VM, defined on the first call.
pub(crate) fn stats() -> Rc<Stats> {
    VM.with(|vm| vm.stats.get_or_init(|| Rc::new(Stats::define())).clone())
}
