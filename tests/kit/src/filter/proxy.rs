//! A real Envoy with the filter in it.

use crate::{Envoy, EnvoyBuilder, Version, wait};
use serde_json::Value;

use super::bootstrap::{self, LISTENERS, Plugin};
use super::{Backend, Client, PATIENCE};

/// The default limit for the answer to a callout.
const BUFFER_LIMIT: u32 = 32 << 20;

/// The start of the filter's log line about taking the lease.
const POLLS: &str = "this thread polls ";

/// A proxy about to be started.
#[derive(Debug)]
pub struct Setup {
    version: Version,
    workers: u32,
    plugins: Vec<Plugin>,
    singletons: Vec<Plugin>,
    clusters: Vec<Value>,
    buffer_limit: u32,
    arguments: Vec<&'static str>,
    restartable: bool,
}

impl Setup {
    pub fn workers(mut self, workers: u32) -> Self {
        self.workers = workers;
        self
    }

    /// One more listener with the filter, configured by these keys.
    pub fn listener(self, name: &str, keys: Value) -> Self {
        self.plugin(Plugin::new(name, keys))
    }

    pub fn plugin(mut self, plugin: Plugin) -> Self {
        self.plugins.push(plugin);
        self
    }

    /// The filter once per proxy, on the main thread, beside those in the listeners.
    pub fn singleton(mut self, keys: Value) -> Self {
        self.singletons.push(Plugin::new("no listener", keys));
        self
    }

    /// One more cluster beside those of the sample.
    pub fn cluster(mut self, cluster: Value) -> Self {
        self.clusters.push(cluster);
        self
    }

    /// The largest answer to a callout, in bytes.
    pub fn buffer_limit(mut self, bytes: u32) -> Self {
        self.buffer_limit = bytes;
        self
    }

    pub fn argument(mut self, argument: &'static str) -> Self {
        self.arguments.push(argument);
        self
    }

    /// Allows another proxy to take over from it by a hot restart.
    pub fn restartable(mut self) -> Self {
        self.restartable = true;
        self
    }

    #[track_caller]
    pub fn start(self, backend: &Backend) -> Proxy {
        let restartable = self.restartable;
        self.start_as(backend, |envoy| if restartable { envoy.restartable() } else { envoy })
    }

    /// Starts it by a hot restart of another proxy, which ends.
    #[track_caller]
    pub fn take_over(self, backend: &Backend, from: &Proxy) -> Proxy {
        self.start_as(backend, |envoy| envoy.after(&from.envoy))
    }

    #[track_caller]
    fn start_as(self, backend: &Backend, which: impl FnOnce(EnvoyBuilder) -> EnvoyBuilder) -> Proxy {
        let listeners = bootstrap::listeners(&self.plugins);
        let envoy = Envoy::of(self.version)
            .workers(self.workers)
            .file(LISTENERS, &listeners);
        let envoy = self
            .arguments
            .iter()
            .fold(envoy, |envoy, argument| envoy.argument(argument));
        let envoy = which(envoy).start(&bootstrap::bootstrap(
            backend,
            &self.plugins,
            &self.singletons,
            &self.clusters,
            self.buffer_limit,
        ));
        Proxy {
            envoy,
            workers: self.workers,
        }
    }
}

/// A running proxy.
#[derive(Debug)]
pub struct Proxy {
    /// The process.
    pub envoy: Envoy,
    workers: u32,
}

impl Proxy {
    /// A proxy of that version with two workers and no listeners yet.
    pub fn of(version: Version) -> Setup {
        Setup {
            version,
            workers: 2,
            plugins: Vec::new(),
            singletons: Vec::new(),
            clusters: Vec::new(),
            buffer_limit: BUFFER_LIMIT,
            restartable: false,
            arguments: vec!["--component-log-level", "main:warning"],
        }
    }

    /// One with a single listener, `main`, for the common case.
    #[track_caller]
    pub fn start(version: Version, backend: &Backend, keys: Value) -> (Self, Client) {
        let proxy = Self::of(version).listener("main", keys).start(backend);
        let client = proxy.client("main");
        (proxy, client)
    }

    /// A client of that listener.
    #[track_caller]
    pub fn client(&self, listener: &str) -> Client {
        Client::new(self.envoy.listener(listener), self.workers)
    }

    /// Replaces all listeners.
    pub fn replace_listeners(&self, plugins: &[Plugin]) {
        self.envoy.replace(LISTENERS, &bootstrap::listeners(plugins));
    }

    /// One of the filter's stats; 0 while no VM has defined it.
    #[track_caller]
    pub fn stat(&self, name: &str) -> u64 {
        self.envoy.filter_stat(name)
    }

    /// Waits until one of the filter's stats matches. The VMs write their counts once a tick.
    #[track_caller]
    pub fn wait_for_stat(&self, name: &str, fits: impl Fn(u64) -> bool) -> u64 {
        wait::for_ok(PATIENCE, name, || {
            let value = self.stat(name);
            if fits(value) {
                Ok(value)
            } else {
                Err(format!("it is {value}"))
            }
        })
    }

    /// The lines of the log with that text.
    pub fn log_lines(&self, text: &str) -> Vec<String> {
        let log = self.envoy.log();
        log.lines()
            .filter(|line| line.contains(text))
            .map(str::to_owned)
            .collect()
    }

    /// Waits until the main thread is the leader, as it is once the workers have served requests. From then on the lease does
    /// not move, and the leader keeps its own state: the failures that it has logged, and its backoff.
    ///
    /// # Panics
    /// When it does not in time.
    #[track_caller]
    pub fn wait_for_main_thread(&self) {
        wait::until(PATIENCE, "the main thread polls", || {
            self.leader() == Some(self.envoy.id())
        });
    }

    /// Waits until the filter chains of the configuration before are gone, and with them its root contexts.
    ///
    /// # Panics
    /// When they are not in time.
    #[track_caller]
    pub fn wait_for_the_drain(&self) {
        wait::until(PATIENCE, "the end of the drain", || {
            self.envoy.stat("listener_manager.total_filter_chains_draining") == Some(0)
        });
    }

    /// How often the lease changed hands.
    pub fn leader_changes(&self) -> usize {
        self.log_lines(POLLS).len()
    }

    /// The id of the thread that took the lease last; the main thread has the id of the process.
    pub fn leader(&self) -> Option<u32> {
        // [2026-01-01 00:00:00.000][THREAD][info]…
        self.log_lines(POLLS).last()?.split(['[', ']']).nth(3)?.parse().ok()
    }
}
