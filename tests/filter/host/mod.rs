//! A fake Envoy: the [Proxy-Wasm ABI](https://github.com/proxy-wasm/spec/tree/main/abi-versions/v0.2.1) in native code.
//!
//! The host functions that the SDK imports are symbols of this test binary ([`abi`]), and what a module exports is
//! called as a proxy calls it ([`guest`]). So the filter runs as it is, with the real SDK. A test sets up a proxy,
//! lets time and requests pass, and looks at the state afterwards; it scripts no host call.
//!
//! ```ignore
//! use burst_metrics as _; // links the filter
//! unsafe extern "C" {
//!     safe fn _initialize();
//! }
//!
//! let envoy = FakeEnvoy::new(Module::of_the_sdk(_initialize)).config(MINIMAL).cluster("kube_api").kube(|callout| api.answer(callout));
//! let (main, worker) = (envoy.main_thread(), envoy.worker());
//! main.tick().answer();
//! envoy.advance(Duration::from_secs(1));
//! assert_eq!(worker.response("web.shop").header("x-burst"), Some("service=shop/web, ..."));
//! ```
//!
//! One VM is one thread of this process, and works only while the test waits for it: a callback is never interrupted,
//! unless by [`Vm::before_write`] or [`Vm::before_read`]. Each [`FakeEnvoy`] stands alone, so tests run in parallel. What the filter logs is
//! printed as it comes; the test harness shows it for a test that fails.
//!
//! # What is as in Envoy
//! Whatever the tests in `probe` name; status for status after the sources of Envoy 1.40 and proxy-wasm-cpp-host.
//!
//! # What is not
//! - Statics of the filter are shared by all VMs, and so is the level given to `set_log_level`. A VM that ends without
//!   a trap drops what lives in it.
//! - A panic's text is logged even if the filter never called `set_log_level`.
//! - CAS numbers are those of one fake, not of the process. Shared data stay when the last VM of their id has gone.
//! - There are the threads that a test asks for; the main thread too. Each thread has its VM at once, after a canary
//!   for a configuration that has not had one.
//! - [`Vm::tick`] comes when the test says, and moves no clock.
//! - Properties: those in [`property`], no lists, maps or messages as a whole. `clear_route_cache` changes nothing.
//! - Streams: no trailers, a body in one piece and none after a pause; a client sees what leaves the filter chain.
//! - No TCP, no gRPC: every cluster is unknown to gRPC calls.
//! - The reload backoff has no jitter.
//! - Replies and continued requests of one callback do not nest; more of them than the stack holds trap the VM all the same.

mod abi;
mod callout;
mod clock;
mod envoy;
mod guest;
mod http;
mod log;
mod message;
mod plugin;
mod property;
mod proxy;
mod queues;
mod route;
mod shared_data;
mod slot;
mod state;
mod stats;
mod stream;
mod thread;
mod trap;
mod vm;
mod wire;

pub(crate) use callout::{Answer, Callout};
pub(crate) use envoy::{FakeEnvoy, Jump};
pub(crate) use guest::Module;
pub(crate) use log::{LogLine, ThreadName};
pub(crate) use message::{By, Request, Response, Seen};
pub(crate) use plugin::Plugin;
pub(crate) use proxy::{Access, FailurePolicy};
pub(crate) use route::Route;
pub(crate) use vm::{OpenStream, Vm};
