//! A test's handle to one VM.

use super::callout::{Answer, Callout};
use super::envoy::FakeEnvoy;
use super::guest;
use super::log::{LogLine, ThreadName};
use super::message::{Request, Seen};
use super::plugin::Plugin;
use super::route::Route;
use super::slot::{Opened, Root, Slot};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A VM that gets this many answers and still sends callouts never becomes idle.
const MAX_ANSWERS: usize = 10_000;

/// A VM on the main thread or on a worker. Clones are handles to the same VM.
#[derive(Clone)]
pub(crate) struct Vm {
    pub(super) slot: Arc<Slot>,
    pub(super) envoy: FakeEnvoy,
}

/// The filter refused a configuration, or trapped while it loaded one.
#[derive(Debug)]
pub(crate) struct Refused {
    /// The lines logged during the attempt.
    pub(crate) log: Vec<LogLine>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.log.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

impl Vm {
    pub(crate) fn thread(&self) -> ThreadName {
        self.slot.thread
    }

    pub(crate) fn alive(&self) -> bool {
        self.slot.alive()
    }

    /// Loads the plugin with another configuration: a canary first, then a second root context beside the first.
    pub(crate) fn configure(&self, configuration: impl Into<Vec<u8>>) -> Result<Root, Refused> {
        self.load(self.envoy.plugin.clone().config(configuration))
    }

    /// Loads a plugin, unless it is loaded already.
    pub(crate) fn load(&self, plugin: Plugin) -> Result<Root, Refused> {
        self.envoy.attempt(|| {
            let accepted = self.envoy.canary(&self.slot.vm_id, &plugin);
            accepted.then(|| self.slot.load(plugin)).flatten()
        })
    }

    /// Ends a root context as Envoy does at the end of a drain: `on_done`, then `on_delete`; its callouts are dropped.
    pub(crate) fn retire(&self, root: Root) -> &Self {
        self.slot.retire(root);
        self.settled()
    }

    /// The newest root context, which serves requests.
    pub(crate) fn root(&self) -> Root {
        self.slot.newest()
    }

    /// Ticks every root context that has a timer, without moving the clock.
    pub(crate) fn tick(&self) -> &Self {
        for root in self.slot.look(|vm| vm.ticking()).unwrap_or_default() {
            self.slot.tick(root);
        }
        self.settled()
    }

    /// The tick period of a root context, `None` if it has no timer.
    pub(crate) fn tick_period(&self, root: Root) -> Option<Duration> {
        let context = self.slot.context(root)?;
        self.slot.look(|vm| Some(vm.roots.get(&context)?.timer?.period))?
    }

    /// The number of host functions that the VM has called, except logging.
    pub(crate) fn host_calls(&self) -> u64 {
        self.slot.look(|vm| vm.host_calls).unwrap_or_default()
    }

    /// The bytes of shared data that the VM has read or written.
    pub(crate) fn copied(&self) -> usize {
        self.slot.look(|vm| vm.copied).unwrap_or_default()
    }

    /// The most replies and resumed requests that one callback of the VM has caused. Envoy nests that many calls.
    pub(crate) fn most_deferred(&self) -> usize {
        self.slot.look(|vm| vm.most_deferred).unwrap_or_default()
    }

    /// The callouts that have not ended, oldest first.
    pub(crate) fn callouts(&self) -> Vec<Callout> {
        self.slot.callouts()
    }

    /// Answers one callout. Has no effect if the callout no longer exists.
    pub(crate) fn reply(&self, callout: &Callout, answer: impl Into<Answer>) -> &Self {
        if self.callouts().iter().any(|other| other.token == callout.token) {
            self.slot.reply(callout.token, answer.into());
        }
        self.settled()
    }

    /// Delivers what servers have sent of their chunked bodies.
    pub(crate) fn receive(&self) -> &Self {
        while self.slot.receive() {
            self.settled();
        }
        self
    }

    /// Lets the fake server answer, and delivers what it has sent of its chunked bodies, until only unanswerable callouts
    /// are left.
    ///
    /// # Panics
    /// If there is no fake server, or if the filter sends another callout after every answer.
    pub(crate) fn answer(&self) -> &Self {
        let mut left_for_later = Vec::new();
        for _ in 0..MAX_ANSWERS {
            self.receive();
            let is_due = |callout: &Callout| callout.is_waiting() && !left_for_later.contains(&callout.token);
            let Some(callout) = self.callouts().into_iter().find(is_due) else {
                return self;
            };
            let answer = self.envoy.proxy.ask(&callout).expect("a fake server, given by kube()");
            if matches!(answer, Answer::Later) {
                left_for_later.push(callout.token);
            }
            self.reply(&callout, answer);
        }
        panic!("the filter answers each of {MAX_ANSWERS} answers with the next callout");
    }

    /// Sends a request through the newest root context, from its first header to its access log.
    pub(crate) fn request(&self, request: Request, route: Route) -> Seen {
        self.open(request, route).finish()
    }

    /// Sends a request through another root context, such as that of a draining listener.
    pub(crate) fn request_through(&self, root: Root, request: Request, route: Route) -> Seen {
        self.open_through(root, request, route).finish()
    }

    /// Sends a plain request to the Kubernetes Service `name.namespace` of an Istio mesh. The upstream answers 200.
    pub(crate) fn response(&self, service: &str) -> Seen {
        let (name, namespace) = service.split_once('.').expect("name.namespace");
        self.request(Request::get("/").host(service), Route::istio(name, namespace))
    }

    /// Runs the request phase of a stream.
    pub(crate) fn open(&self, request: Request, route: Route) -> OpenStream {
        self.open_through(self.root(), request, route)
    }

    fn open_through(&self, root: Root, request: Request, route: Route) -> OpenStream {
        assert_ne!(self.thread(), ThreadName::Main, "no request reaches the main thread");
        let opened = self.slot.open(root, request, route);
        self.settled();
        OpenStream {
            vm: self.clone(),
            opened,
        }
    }

    /// Runs `code` in the newest root context of the filter, so that a test can call host functions.
    ///
    /// # Panics
    /// If the code panics.
    pub(crate) fn inside<R: Send + 'static>(&self, code: impl FnOnce() -> R + Send + 'static) -> R {
        let context = self.slot.context(self.root()).expect("the VM has trapped");
        let result = self.slot.run(move || guest::enter(context, code));
        self.settled();
        result.expect("the code panicked, and the VM is gone")
    }

    /// Runs `interrupt` once, just before this VM writes shared data under a key that contains `part_of_key`. It stands
    /// for another thread that acts between a read and a write. It may use other VMs, but not this one. If it panics,
    /// this VM traps. Several interrupts for one key run one per write.
    pub(crate) fn before_write(&self, part_of_key: &str, interrupt: impl FnOnce() + Send + 'static) -> &Self {
        let part_of_key = part_of_key.to_owned();
        self.slot
            .look(|vm| vm.before_write.push((part_of_key, Box::new(interrupt))));
        self
    }

    /// Does the same before a read.
    pub(crate) fn before_read(&self, part_of_key: &str, interrupt: impl FnOnce() + Send + 'static) -> &Self {
        let part_of_key = part_of_key.to_owned();
        self.slot
            .look(|vm| vm.before_read.push((part_of_key, Box::new(interrupt))));
        self
    }

    /// Traps the VM: nothing in it runs any more, `on_done` included, and its callouts are dropped.
    pub(crate) fn kill(&self) -> &Self {
        self.slot.run(|| panic!("killed by the test"));
        self
    }

    /// Delivers the queue messages of the last step.
    fn settled(&self) -> &Self {
        self.envoy.deliver_queues();
        self
    }
}

/// A stream between its request and its response.
pub(crate) struct OpenStream {
    vm: Vm,
    opened: Opened,
}

impl OpenStream {
    /// Runs the response phase and the access log, and ends the stream.
    ///
    /// # Panics
    /// If the filter has paused the stream without resuming it, or has reset it.
    pub(crate) fn finish(self) -> Seen {
        let seen = self.vm.slot.finish(self.opened);
        self.vm.settled();
        seen.expect("the filter holds the stream up")
    }

    /// Whether the filter has answered, so that [`Self::finish`] has a response.
    pub(crate) fn is_answered(&self) -> bool {
        self.vm.slot.is_answered(&self.opened)
    }

    /// Ends the stream without a response, as if the client had disconnected. The access log still runs.
    pub(crate) fn abandon(self) {
        self.vm.slot.abandon(&self.opened);
        self.vm.settled();
    }
}
