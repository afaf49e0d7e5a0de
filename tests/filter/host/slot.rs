//! A thread of the proxy and its VM: loads plugins, retires them, and reloads them after a trap.

use super::callout::{Answer, Callout, Progress};
use super::clock::Event;
use super::guest::{self, Module, with};
use super::http;
use super::log::ThreadName;
use super::message::{By, Request, Response, Seen};
use super::plugin::Plugin;
use super::proxy::{FailurePolicy, Proxy};
use super::route::{End, Route};
use super::state::{Part, VmState};
use super::stream::Stream;
use super::thread::{VmThread, lock};
use super::upstream_filter::{self, UpstreamFilter};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::Duration;

/// The default of `reload_config.backoff`, without jitter.
const RELOAD_BACKOFF: Duration = Duration::from_secs(1);

/// The index of a plugin of a VM, in the order of loading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Root(usize);

/// A stream that has been opened, either in the VM with that number or without one because the VM has failed.
pub(super) enum Opened {
    Inside { vm: u32, stream: u32 },
    Around(Seen),
}

pub(super) struct Slot {
    pub(super) thread: ThreadName,
    pub(super) vm_id: String,
    proxy: Arc<Proxy>,
    module: Module,
    life: Mutex<Life>,
}

/// Locked while the VM runs.
#[derive(Default)]
pub(super) struct Life {
    vm: Option<VmThread>,
    /// The number of VMs so far.
    vms: u32,
    plugins: Vec<Loaded>,
}

struct Loaded {
    plugin: Plugin,
    /// The plugin's root context, while the VM that loaded it lives.
    context: Option<u32>,
    /// The root context of its upstream filter, if that has one of its own.
    upstream: Option<u32>,
    at: Duration,
    retired: bool,
}

impl Slot {
    pub(super) fn new(proxy: Arc<Proxy>, thread: ThreadName, vm_id: String, module: Module) -> Self {
        Self {
            thread,
            vm_id,
            proxy,
            module,
            life: Mutex::new(Life::default()),
        }
    }

    fn life(&self) -> MutexGuard<'_, Life> {
        match self.life.try_lock() {
            Ok(life) => life,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => panic!("{} is at work and cannot be used", self.thread),
        }
    }

    pub(super) fn alive(&self) -> bool {
        self.life().vm.is_some()
    }

    /// Reads the VM's state without entering the guest. `None` once it has trapped.
    pub(super) fn look<R>(&self, look: impl FnOnce(&mut VmState) -> R) -> Option<R> {
        Some(look(&mut lock(&self.life().vm.as_ref()?.state)))
    }

    /// Runs a job on the VM's thread. `None` if the VM has trapped or traps now.
    pub(super) fn run<R: Send + 'static>(&self, job: impl FnOnce() -> R + Send + 'static) -> Option<R> {
        self.life().run(job)
    }

    /// Loads a plugin, unless it is loaded already. `None` if the filter refuses it.
    pub(super) fn load(&self, plugin: Plugin) -> Option<Root> {
        let mut life = self.life();
        let known = life
            .plugins
            .iter()
            .position(|loaded| loaded.plugin == plugin && !loaded.retired);
        if let Some(index) = known {
            return Some(Root(index));
        }
        let (context, upstream) = self.start(&mut life, &plugin)?;
        let at = self.proxy.now();
        life.plugins.push(Loaded {
            plugin,
            context: Some(context),
            upstream,
            at,
            retired: false,
        });
        Some(Root(life.plugins.len() - 1))
    }

    /// Makes a root context for the plugin, in the current VM or in a new one, and another one for its upstream filter if
    /// that has its own.
    fn start(&self, life: &mut Life, plugin: &Plugin) -> Option<(u32, Option<u32>)> {
        if life.vm.is_none() {
            let state = VmState::new(self.proxy.clone(), self.thread, self.vm_id.clone(), self.module);
            life.vm = Some(VmThread::start(state).ok()?);
            life.vms += 1;
        }
        let filters = self.proxy.state().upstream_filters.clone();
        let own = filters.into_values().find(|filter| filter.has_own_root());
        let before = own == Some(UpstreamFilter::OwnRootFirst);
        let first = if before {
            Some(life.start(plugin, Part::Cluster)?)
        } else {
            None
        };
        let context = life.start(plugin, Part::Listener)?;
        let upstream = match own {
            Some(UpstreamFilter::OwnRootLast) => Some(life.start(plugin, Part::Cluster)?),
            _ => first,
        };
        Some((context, upstream))
    }

    pub(super) fn newest(&self) -> Root {
        let life = self.life();
        Root(
            life.plugins
                .iter()
                .rposition(|loaded| !loaded.retired)
                .expect("a plugin that is not retired"),
        )
    }

    pub(super) fn context(&self, root: Root) -> Option<u32> {
        self.life().plugins[root.0].context
    }

    /// Ends a listener's drain: `on_done`, then `on_delete`, either at once or after `proxy_done`.
    pub(super) fn retire(&self, root: Root) {
        let mut life = self.life();
        life.plugins[root.0].retired = true;
        let Some(context) = life.plugins[root.0].context.take() else {
            return;
        };
        let busy = |vm: &VmThread| {
            let state = lock(&vm.state);
            let mut client_streams = state.streams.values().filter(|stream| stream.callout.is_none());
            client_streams.any(|stream| stream.root == context)
        };
        assert!(
            !life.vm.as_ref().is_some_and(busy),
            "a drain ends when its last stream does"
        );
        let upstream = life.plugins[root.0].upstream.take();
        life.run(move || [Some(context), upstream].into_iter().flatten().for_each(guest::retire));
    }

    /// Calls `on_queue_ready`, unless the context is gone. Returns false if the VM is running and cannot be called now.
    pub(super) fn queue_ready(&self, context: u32, queue: u32) -> bool {
        let Ok(mut life) = self.life.try_lock() else {
            return false;
        };
        life.run(move || {
            if with(|vm| vm.has_context(context)) {
                guest::queue_ready(context, queue);
            }
        });
        true
    }

    pub(super) fn next_event(&self) -> Option<(Duration, Event)> {
        self.look(|vm| vm.next_event())?
    }

    pub(super) fn fire(&self, event: Event) {
        match event {
            Event::Tick { root } => self.tick(root),
            Event::Timeout { token } => {
                self.run(move || {
                    upstream_filter::time_out(token);
                    guest::retire_drained();
                });
            }
        }
    }

    /// Ticks. The period restarts when the handler returns.
    pub(super) fn tick(&self, root: u32) {
        self.run(move || {
            guest::tick(root);
            with(|vm| vm.rearm(root));
        });
    }

    /// The callouts that have not ended, oldest first.
    pub(super) fn callouts(&self) -> Vec<Callout> {
        let all = |vm: &mut VmState| vm.roots.values().flat_map(|root| root.callouts.clone()).collect();
        let mut callouts: Vec<_> = self.look(all).unwrap_or_default();
        callouts.sort_by_key(|callout| callout.token);
        callouts
    }

    /// Answers a callout, if it still exists.
    pub(super) fn reply(&self, token: u32, answer: Answer) {
        match answer {
            Answer::Later => return,
            Answer::Never => return self.look(|vm| vm.leave_unanswered(token)).unwrap_or_default(),
            _ => {}
        }
        self.run(move || {
            upstream_filter::answer(token, answer);
            guest::retire_drained();
        });
    }

    /// Delivers the next part of a body that comes in chunks. Returns false if there is none now.
    pub(super) fn receive(&self) -> bool {
        let has_part = |callout: &Callout| matches!(&callout.progress, Progress::Receiving(_, body) if body.has_next());
        let Some(callout) = self.callouts().into_iter().find(has_part) else {
            return false;
        };
        let received = self.run(move || {
            let received = upstream_filter::receive(callout.token);
            guest::retire_drained();
            received
        });
        received.unwrap_or_default()
    }

    pub(super) fn open(&self, root: Root, request: Request, route: Route) -> Opened {
        let mut life = self.life();
        let end = route.end.clone();
        let Some(context) = self.revive(&mut life, root) else {
            return Opened::Around(self.around(end));
        };
        match life.run(move || http::open(context, request, route)) {
            Some(stream) => Opened::Inside { vm: life.vms, stream },
            None => Opened::Around(unavailable()),
        }
    }

    /// The response that the client receives in the end. `None` if the filter has paused the stream.
    pub(super) fn finish(&self, opened: Opened) -> Option<Seen> {
        let (vm, stream) = match opened {
            Opened::Inside { vm, stream } => (vm, stream),
            Opened::Around(seen) => return Some(seen),
        };
        let mut life = self.life();
        if life.vm.is_none() || life.vms != vm {
            return Some(unavailable());
        }
        let Some(seen) = life.run(move || http::finish(stream)) else {
            return Some(unavailable());
        };
        life.run(move || http::close(stream));
        seen
    }

    /// Whether the filter has answered the stream.
    pub(super) fn is_answered(&self, opened: &Opened) -> bool {
        let &Opened::Inside { vm, stream } = opened else {
            return true;
        };
        let is_gone = self.life().vms != vm;
        let is_answered = |stream: &Stream| stream.wanted_reply.is_some() || stream.seen.is_some();
        is_gone
            || self
                .look(|vm| vm.streams.get(&stream).is_none_or(is_answered))
                .unwrap_or(true)
    }

    /// Ends the stream as it is, because the client disconnected.
    pub(super) fn abandon(&self, opened: &Opened) {
        let mut life = self.life();
        if let &Opened::Inside { vm, stream } = opened
            && life.vms == vm
        {
            life.run(move || http::close(stream));
        }
    }

    /// The plugin's root context. With FAIL_RELOAD, a worker makes a new one for a request after a trap.
    fn revive(&self, life: &mut Life, root: Root) -> Option<u32> {
        let loaded = &life.plugins[root.0];
        if loaded.context.is_some() {
            return loaded.context;
        }
        let plugin = loaded.plugin.clone();
        let count = |what| {
            self.proxy
                .state()
                .stats
                .count(&format!("wasm.{}.vm_reload_{what}", plugin.name));
        };
        if self.proxy.state().failure_policy != FailurePolicy::Reload {
            return None;
        }
        if self.proxy.now() < loaded.at + RELOAD_BACKOFF {
            count("backoff");
            return None;
        }
        let (context, upstream) = self.start(life, &plugin).unzip();
        count(if context.is_some() { "success" } else { "failure" });
        life.plugins[root.0].context = context;
        life.plugins[root.0].upstream = upstream.flatten();
        life.plugins[root.0].at = self.proxy.now();
        context
    }

    /// The response to a request without a VM.
    fn around(&self, end: End) -> Seen {
        match (self.proxy.state().failure_policy, end) {
            (FailurePolicy::Open, End::Upstream(response)) => Seen {
                by: By::Upstream,
                response,
            },
            (FailurePolicy::Open, End::Envoy(response, _)) => Seen {
                by: By::Envoy,
                response,
            },
            _ => unavailable(),
        }
    }
}

impl Life {
    fn run<R: Send + 'static>(&mut self, job: impl FnOnce() -> R + Send + 'static) -> Option<R> {
        let result = self.vm.as_ref()?.run(job).ok();
        if result.is_none() {
            self.vm = None;
            for loaded in &mut self.plugins {
                (loaded.context, loaded.upstream) = (None, None);
            }
        }
        result
    }

    /// Makes a root context and configures it. `None` if the filter refuses the configuration.
    fn start(&mut self, plugin: &Plugin, part: Part) -> Option<u32> {
        let plugin = plugin.clone();
        self.run(move || {
            let size = plugin.configuration.len();
            let root = with(|vm| vm.new_root(plugin, part));
            guest::create(root, 0);
            (guest::vm_start(root) && guest::configure(root, size)).then_some(root)
        })?
    }
}

fn unavailable() -> Seen {
    Seen {
        by: By::Envoy,
        response: Response::status(503),
    }
}
