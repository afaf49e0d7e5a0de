//! A test's handle on one VM.

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

/// So many answers to one VM without rest, and it asks again as fast as it is answered.
const RESTLESS: usize = 10_000;

/// A VM on the main thread or on a worker. Clones are handles on the same one.
#[derive(Clone)]
pub(crate) struct Vm {
    pub(super) slot: Arc<Slot>,
    pub(super) envoy: FakeEnvoy,
}

/// The filter said no to a configuration, or trapped over it.
#[derive(Debug)]
pub(crate) struct Refused {
    /// What was logged meanwhile.
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

    /// Loads the plugin with another configuration: a second root context beside the first, after a canary.
    pub(crate) fn configure(&self, configuration: impl Into<Vec<u8>>) -> Result<Root, Refused> {
        self.load(self.envoy.plugin.clone().config(configuration))
    }

    /// Loads a plugin, or finds it loaded.
    pub(crate) fn load(&self, plugin: Plugin) -> Result<Root, Refused> {
        self.envoy.attempt(|| {
            let accepted = self.envoy.canary(&self.slot.vm_id, &plugin);
            accepted.then(|| self.slot.load(plugin)).flatten()
        })
    }

    /// Ends a root context as the end of a drain does: `on_done`, `on_delete`, and its callouts vanish.
    pub(crate) fn retire(&self, root: Root) -> &Self {
        self.slot.retire(root);
        self.settled()
    }

    /// The newest root context, which serves the requests.
    pub(crate) fn root(&self) -> Root {
        self.slot.newest()
    }

    /// Ticks every root context whose timer is set, whatever the clock says.
    pub(crate) fn tick(&self) -> &Self {
        for root in self.slot.look(|vm| vm.ticking()).unwrap_or_default() {
            self.slot.tick(root);
        }
        self.settled()
    }

    /// The tick period of a root context, None while it has none.
    pub(crate) fn tick_period(&self, root: Root) -> Option<Duration> {
        let context = self.slot.context(root)?;
        self.slot.look(|vm| Some(vm.roots.get(&context)?.timer?.period))?
    }

    /// Host functions that the VM has called so far, logging aside: what a request costs beside the filter's own code.
    pub(crate) fn host_calls(&self) -> u64 {
        self.slot.look(|vm| vm.host_calls).unwrap_or_default()
    }

    /// Bytes of shared data that the VM has read or written so far, which is what its callbacks take with a large cluster.
    pub(crate) fn copied(&self) -> usize {
        self.slot.look(|vm| vm.copied).unwrap_or_default()
    }

    /// The most replies and continued requests that one callback of the VM has asked for: how deep Envoy nests its calls.
    pub(crate) fn most_deferred(&self) -> usize {
        self.slot.look(|vm| vm.most_deferred).unwrap_or_default()
    }

    /// The callouts that stand unanswered, oldest first.
    pub(crate) fn callouts(&self) -> Vec<Callout> {
        let mut callouts: Vec<_> = self.slot.callouts().into_iter().map(|(_, callout)| callout).collect();
        callouts.sort_by_key(|callout| callout.token);
        callouts
    }

    /// Ends one callout. Nothing happens if it has vanished meanwhile.
    pub(crate) fn reply(&self, callout: &Callout, answer: impl Into<Answer>) -> &Self {
        let mine = |(_, other): &(u32, Callout)| other.token == callout.token;
        if let Some((root, _)) = self.slot.callouts().into_iter().find(mine) {
            self.slot.reply(root, callout.token, answer.into());
        }
        self.settled()
    }

    /// Lets the stand-in answer until nothing but hanging callouts is left.
    ///
    /// # Panics
    /// Without a stand-in, and when the filter asks again after every answer without ever waiting.
    pub(crate) fn answer(&self) -> &Self {
        for _ in 0..RESTLESS {
            let Some(callout) = self.callouts().into_iter().find(|callout| !callout.hangs) else {
                return self;
            };
            let answer = self.envoy.proxy.ask(&callout).expect("a stand-in, given by kube()");
            self.reply(&callout, answer);
        }
        panic!("the filter answers each of {RESTLESS} answers with the next callout");
    }

    /// A request through the newest root context, from its first header to its access log.
    pub(crate) fn request(&self, request: Request, route: Route) -> Seen {
        self.open(request, route).finish()
    }

    /// The same through another root context: that of a listener in its drain.
    pub(crate) fn request_through(&self, root: Root, request: Request, route: Route) -> Seen {
        self.open_through(root, request, route).finish()
    }

    /// A plain request to the Kubernetes service `name.namespace` of an Istio mesh, which answers 200.
    pub(crate) fn response(&self, service: &str) -> Seen {
        let (name, namespace) = service.split_once('.').expect("name.namespace");
        self.request(Request::get("/").host(service), Route::istio(name, namespace))
    }

    /// The request phase of a stream.
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

    /// Runs `code` as the filter's own in its newest root context, to use host functions from a test.
    ///
    /// # Panics
    /// If the code does.
    pub(crate) fn inside<R: Send + 'static>(&self, code: impl FnOnce() -> R + Send + 'static) -> R {
        let context = self.slot.context(self.root()).expect("the VM has trapped");
        let result = self.slot.run(move || guest::enter(context, code));
        self.settled();
        result.expect("the code panicked, and the VM is gone")
    }

    /// Runs `interrupt` once, just before this VM writes shared data under a key with that part: what another thread
    /// does between a read and a write. It may use other VMs, not this one. If it panics, this VM traps there.
    /// Several for one key come one a write.
    pub(crate) fn before_write(&self, part_of_key: &str, interrupt: impl FnOnce() + Send + 'static) -> &Self {
        let part_of_key = part_of_key.to_owned();
        self.slot
            .look(|vm| vm.before_write.push((part_of_key, Box::new(interrupt))));
        self
    }

    /// The same before a read.
    pub(crate) fn before_read(&self, part_of_key: &str, interrupt: impl FnOnce() + Send + 'static) -> &Self {
        let part_of_key = part_of_key.to_owned();
        self.slot
            .look(|vm| vm.before_read.push((part_of_key, Box::new(interrupt))));
        self
    }

    /// A trap: nothing in the VM runs any more, no `on_done`, and its callouts vanish.
    pub(crate) fn kill(&self) -> &Self {
        self.slot.run(|| panic!("killed by the test"));
        self
    }

    /// Hands out what the last step put into queues.
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
    /// The response phase, the access log and the end of the stream.
    ///
    /// # Panics
    /// If the filter has paused the stream and not resumed it, or has reset it: a client would wait in vain.
    pub(crate) fn finish(self) -> Seen {
        let seen = self.vm.slot.finish(self.opened);
        self.vm.settled();
        seen.expect("the filter holds the stream up")
    }

    /// The client goes away before it has an answer: the access log and the end of the stream.
    pub(crate) fn abandon(self) {
        self.vm.slot.abandon(&self.opened);
        self.vm.settled();
    }
}
