//! The host's side of one VM: its contexts, and the one that a host call acts for.

use super::callout::Callout;
use super::clock::Timer;
use super::guest::Module;
use super::log::{LogLine, ThreadName};
use super::message::Response;
use super::plugin::Plugin;
use super::proxy::Proxy;
use super::queues::Owner;
use super::stream::Stream;
use proxy_wasm::types::{LogLevel, MetricType};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

pub(super) type Interrupt = Box<dyn FnOnce() + Send>;

pub(super) struct VmState {
    pub(super) proxy: Arc<Proxy>,
    pub(super) thread: ThreadName,
    pub(super) vm_id: String,
    pub(super) module: Module,
    /// Only logging is allowed while `_initialize` runs.
    pub(super) initializing: bool,
    pub(super) roots: BTreeMap<u32, Root>,
    pub(super) streams: BTreeMap<u32, Stream>,
    /// The context whose callback runs, or 0.
    pub(super) current: u32,
    /// The context that `proxy_set_effective_context` set for the rest of the callback.
    pub(super) effective: Option<u32>,
    /// Metric ids of this VM. Their low two bits are the kind; the names belong to the proxy.
    pub(super) metrics: BTreeMap<u32, (MetricType, String)>,
    /// Interrupts that run once before a write to shared data under a key that contains the text, in order.
    pub(super) before_write: Vec<(String, Interrupt)>,
    /// The same before a read.
    pub(super) before_read: Vec<(String, Interrupt)>,
    pub(super) host_calls: u64,
    /// Bytes of shared data that this VM has read or written.
    pub(super) copied: usize,
    /// Replies and resumed requests of the current callback, which Envoy carries out when the callback is over.
    pub(super) deferred: usize,
    /// The largest number of them in one callback.
    pub(super) most_deferred: usize,
    /// Streams of callouts that the filter has reset. Envoy resets them when the callback is over.
    pub(super) pending_resets: VecDeque<u32>,
    last_context: u32,
    pub(super) last_token: u32,
}

/// A root context.
pub(super) struct Root {
    pub(super) plugin: Plugin,
    pub(super) part: Part,
    /// The configuration can be read only in `on_configure`.
    pub(super) configuring: bool,
    pub(super) timer: Option<Timer>,
    pub(super) callouts: Vec<Callout>,
    /// The answer that can be read while `on_http_call_response` runs.
    pub(super) answer: Option<Response>,
    pub(super) status: (u32, &'static str),
    pub(super) done: Done,
}

/// Which part of the proxy loaded the plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Listener,
    /// A cluster whose upstream filter has a root context of its own.
    Cluster,
}

/// Whether a root context has begun to end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    Live,
    /// Its plugin is gone, but a stream of a callout still uses it.
    Draining,
    /// `on_done` returned false: the context lives until `proxy_done`.
    Pending,
    Deletable,
}

impl VmState {
    pub(super) fn new(proxy: Arc<Proxy>, thread: ThreadName, vm_id: String, module: Module) -> Self {
        Self {
            proxy,
            thread,
            vm_id,
            module,
            initializing: false,
            roots: BTreeMap::new(),
            streams: BTreeMap::new(),
            current: 0,
            effective: None,
            metrics: BTreeMap::new(),
            before_write: Vec::new(),
            before_read: Vec::new(),
            host_calls: 0,
            copied: 0,
            deferred: 0,
            most_deferred: 0,
            pending_resets: VecDeque::new(),
            last_context: 0,
            last_token: 0,
        }
    }

    pub(super) fn log(&self, level: LogLevel, text: String) {
        self.proxy.state().log(LogLine {
            level,
            text,
            thread: self.thread,
        });
    }

    /// Ends the VM: nothing in it runs any more, and its timers and callouts are dropped.
    pub(super) fn trap(&mut self, text: String) {
        self.log(LogLevel::Critical, text);
        self.roots.clear();
        self.streams.clear();
        self.pending_resets.clear();
    }

    pub(super) fn new_root(&mut self, plugin: Plugin, part: Part) -> u32 {
        let root = Root {
            plugin,
            part,
            configuring: false,
            timer: None,
            callouts: Vec::new(),
            answer: None,
            status: (0, ""),
            done: Done::Live,
        };
        let id = self.next_context();
        self.roots.insert(id, root);
        id
    }

    pub(super) fn next_context(&mut self) -> u32 {
        self.last_context += 1;
        self.last_context
    }

    pub(super) fn has_context(&self, id: u32) -> bool {
        self.roots.contains_key(&id) || self.streams.contains_key(&id)
    }

    /// The context that a host call acts for: the effective one while it lives, otherwise the one whose callback runs.
    pub(super) fn context(&self) -> u32 {
        self.effective
            .filter(|&id| self.has_context(id))
            .unwrap_or(self.current)
    }

    /// Counts one more action that Envoy carries out when the callback is over.
    pub(super) fn defer(&mut self) {
        self.deferred += 1;
        self.most_deferred = self.most_deferred.max(self.deferred);
    }

    pub(super) fn stream(&mut self) -> Option<&mut Stream> {
        self.streams.get_mut(&self.context())
    }

    pub(super) fn root_id(&self) -> u32 {
        let id = self.context();
        self.streams.get(&id).map_or(id, |stream| stream.root)
    }

    /// The root context of the context that a host call acts for.
    pub(super) fn root(&mut self) -> Option<&mut Root> {
        self.roots.get_mut(&self.root_id())
    }

    pub(super) fn interrupt_before_write(&mut self, key: &str) -> Option<Interrupt> {
        first_of(&mut self.before_write, key)
    }

    pub(super) fn interrupt_before_read(&mut self, key: &str) -> Option<Interrupt> {
        first_of(&mut self.before_read, key)
    }

    pub(super) fn owner(&self) -> Owner {
        Owner {
            thread: self.thread,
            vm_id: self.vm_id.clone(),
            context: self.root_id(),
        }
    }
}

fn first_of(interrupts: &mut Vec<(String, Interrupt)>, key: &str) -> Option<Interrupt> {
    let first = interrupts.iter().position(|(part, _)| key.contains(part.as_str()))?;
    Some(interrupts.remove(first).1)
}
