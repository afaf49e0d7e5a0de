//! A fake proxy with several threads, which a test configures and inspects.

use super::callout::{Answer, Callout};
use super::clock::Event;
use super::guest::Module;
use super::log::{LogLine, ThreadName};
use super::plugin::Plugin;
use super::proxy::{Access, FailurePolicy, Proxy};
use super::slot::Slot;
use super::upstream_filter::UpstreamFilter;
use super::vm::{Refused, Vm};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How the wall clock jumps.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Jump {
    Ahead(Duration),
    Back(Duration),
}

/// The fake proxy. A builder method returns the same proxy with another setting, which applies to VMs made later.
#[derive(Clone)]
pub(crate) struct FakeEnvoy {
    pub(super) proxy: Arc<Proxy>,
    pub(super) plugin: Plugin,
    vm_id: String,
    module: Module,
    slots: Arc<Mutex<Vec<Arc<Slot>>>>,
}

/// Checks the log of a story that has not failed.
impl Drop for FakeEnvoy {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let lines = self.proxy.state().take_unchecked();
            lines.iter().for_each(self.module.check_line);
        }
    }
}

impl FakeEnvoy {
    /// A proxy whose VMs run this module. It has no threads, no clusters and an empty configuration.
    pub(crate) fn new(module: Module) -> Self {
        Self {
            proxy: Arc::new(Proxy::new()),
            plugin: Plugin::named("burst-metrics"),
            vm_id: String::new(),
            module,
            slots: Arc::default(),
        }
    }

    pub(crate) fn config(mut self, configuration: impl Into<Vec<u8>>) -> Self {
        self.plugin.configuration = configuration.into();
        self
    }

    pub(crate) fn plugin(mut self, plugin: Plugin) -> Self {
        self.plugin = plugin;
        self
    }

    /// Sets the VM id. VMs with different ids share only the stats. Istio leaves the id empty, and so does
    /// [`Self::new`].
    pub(crate) fn vm_id(mut self, vm_id: &str) -> Self {
        vm_id.clone_into(&mut self.vm_id);
        self
    }

    /// Adds a cluster with hosts. Callouts to unknown clusters are refused.
    pub(crate) fn cluster(self, name: &str) -> Self {
        self.proxy.state().clusters.insert(name.to_owned(), true);
        self
    }

    /// Adds a cluster without hosts, as before the first DNS answer.
    pub(crate) fn cluster_without_hosts(self, name: &str) -> Self {
        self.proxy.state().clusters.insert(name.to_owned(), false);
        self
    }

    /// Makes the filter an upstream filter of a cluster, with the configuration of the listener's filter.
    pub(crate) fn upstream_filter(self, cluster: &str, filter: UpstreamFilter) -> Self {
        self.proxy.state().upstream_filters.insert(cluster.to_owned(), filter);
        self
    }

    /// Drops callout answers whose body exceeds this size.
    pub(crate) fn body_limit(self, bytes: usize) -> Self {
        self.proxy.state().body_limit = bytes;
        self
    }

    /// Sets the failure policy. The default is FAIL_RELOAD.
    pub(crate) fn failure_policy(self, policy: FailurePolicy) -> Self {
        self.proxy.state().failure_policy = policy;
        self
    }

    /// Sets a fake server for the Kubernetes API, or for any other server that the filter calls. It answers callouts in
    /// [`Vm::answer`], in [`Self::answer`], and in [`Self::advance`] before time passes. It replaces an earlier one.
    pub(crate) fn kube<A: Into<Answer>>(self, mut stand_in: impl FnMut(&Callout) -> A + Send + 'static) -> Self {
        self.proxy
            .set_stand_in(Box::new(move |callout| stand_in(callout).into()));
        self
    }

    /// Traps each VM that reads, or is about to write, a value of shared data for which `fatal` returns true. It
    /// replaces an earlier condition.
    pub(crate) fn trap_where(&self, fatal: impl FnMut(Access, &str, &[u8]) -> bool + Send + 'static) {
        self.proxy.set_fatal(Box::new(fatal));
    }

    /// Starts a new worker that runs the filter.
    ///
    /// # Panics
    /// If the filter refuses the configuration.
    pub(crate) fn worker(&self) -> Vm {
        self.try_worker()
            .unwrap_or_else(|refused| panic!("refused:\n{refused}"))
    }

    pub(crate) fn try_worker(&self) -> Result<Vm, Refused> {
        let workers = self
            .slots()
            .iter()
            .filter(|slot| slot.thread != ThreadName::Main)
            .count();
        self.vm(ThreadName::Worker(workers))
    }

    /// Starts the main thread with the filter. A proxy has one main thread.
    ///
    /// # Panics
    /// If the filter refuses the configuration.
    pub(crate) fn main_thread(&self) -> Vm {
        self.vm(ThreadName::Main)
            .unwrap_or_else(|refused| panic!("refused:\n{refused}"))
    }

    fn vm(&self, thread: ThreadName) -> Result<Vm, Refused> {
        let known = self
            .slots()
            .into_iter()
            .find(|slot| slot.thread == thread && slot.vm_id == self.vm_id);
        let slot = known.unwrap_or_else(|| Arc::new(self.slot(thread, &self.vm_id)));
        let vm = Vm {
            slot: slot.clone(),
            envoy: self.clone(),
        };
        vm.load(self.plugin.clone())?;
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if !slots.iter().any(|other| Arc::ptr_eq(other, &slot)) {
            slots.push(slot);
        }
        Ok(vm)
    }

    fn slot(&self, thread: ThreadName, vm_id: &str) -> Slot {
        Slot::new(self.proxy.clone(), thread, vm_id.to_owned(), self.module)
    }

    fn slots(&self) -> Vec<Arc<Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All VMs made so far, in order.
    pub(crate) fn vms(&self) -> Vec<Vm> {
        self.slots()
            .into_iter()
            .map(|slot| Vm {
                slot,
                envoy: self.clone(),
            })
            .collect()
    }

    /// Loads a plugin once in a VM of its own on the main thread. That VM is then dropped without `on_done`.
    pub(super) fn canary(&self, vm_id: &str, plugin: &Plugin) -> bool {
        let key = (vm_id.to_owned(), plugin.clone());
        if self.proxy.state().accepted.contains(&key) {
            return true;
        }
        let accepted = self.slot(ThreadName::Main, vm_id).load(plugin.clone()).is_some();
        if accepted {
            self.proxy.state().accepted.push(key);
        }
        accepted
    }

    /// Runs a load that the filter may refuse. A refusal carries the log of the attempt.
    pub(super) fn attempt<R>(&self, load: impl FnOnce() -> Option<R>) -> Result<R, Refused> {
        let before = self.log().len();
        let loaded = load();
        self.deliver_queues();
        loaded.ok_or_else(|| Refused {
            log: self.log().split_off(before),
        })
    }

    /// Calls `on_queue_ready` for every message in a queue.
    pub(super) fn deliver_queues(&self) {
        loop {
            let Some((owner, token)) = self.proxy.state().queues.next_ready() else {
                return;
            };
            let here = |slot: &Arc<Slot>| slot.thread == owner.thread && slot.vm_id == owner.vm_id;
            let slot = self.slots().into_iter().find(here);
            if slot.is_some_and(|slot| !slot.queue_ready(owner.context, token)) {
                self.proxy.state().queues.put_back(owner, token);
                return;
            }
        }
    }

    /// Lets the fake server answer every VM until all of them are idle.
    pub(crate) fn answer(&self) -> &Self {
        for vm in self.vms() {
            vm.answer();
        }
        self
    }

    /// Moves the clock. Ticks and timeouts on the way fire at their own time. If there is a fake server, it answers before
    /// time passes.
    pub(crate) fn advance(&self, by: Duration) -> &Self {
        let end = self.proxy.now() + by;
        loop {
            self.answer_if_stand_in();
            let Some((due, slot, event)) = self.next_event().filter(|&(due, ..)| due <= end) else {
                break;
            };
            let now = self.proxy.now();
            self.proxy.state().now = due.max(now);
            slot.fire(event);
            self.deliver_queues();
        }
        self.proxy.state().now = end;
        self
    }

    fn answer_if_stand_in(&self) {
        if self.proxy.has_stand_in() {
            self.answer();
        }
    }

    fn next_event(&self) -> Option<(Duration, Arc<Slot>, Event)> {
        let events = self
            .slots()
            .into_iter()
            .filter_map(|slot| slot.next_event().map(|(due, event)| (due, slot, event)));
        events.min_by_key(|&(due, ..)| due)
    }

    /// The time since the epoch that the filter reads.
    pub(crate) fn now(&self) -> Duration {
        self.proxy.state().wall_clock()
    }

    /// Moves the wall clock, which no timer uses.
    pub(crate) fn jump(&self, jump: Jump) {
        let mut state = self.proxy.state();
        match jump {
            Jump::Ahead(by) => state.ahead += by,
            Jump::Back(by) => state.back += by,
        }
    }

    /// The value of a counter or gauge, `None` before it is defined.
    pub(crate) fn stat(&self, name: &str) -> Option<u64> {
        self.proxy.state().stats.value(name)
    }

    /// The names of all defined counters, gauges and histograms.
    pub(crate) fn stats(&self) -> BTreeSet<String> {
        self.proxy.state().stats.names().map(str::to_owned).collect()
    }

    /// The values recorded in a histogram.
    pub(crate) fn histogram(&self, name: &str) -> Option<Vec<u64>> {
        self.proxy.state().stats.histogram(name)
    }

    /// The lines that the filter has logged on all threads, canaries included.
    pub(crate) fn log(&self) -> Vec<LogLine> {
        self.proxy.state().log.clone()
    }

    /// The values in shared data whose keys have this prefix.
    pub(crate) fn shared_data(&self, prefix: &str) -> BTreeMap<String, Vec<u8>> {
        self.proxy.state().data.with_prefix(&self.vm_id, prefix)
    }
}
