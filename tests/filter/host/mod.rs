//! A fake Envoy: the [Proxy-Wasm ABI](https://github.com/proxy-wasm/spec/tree/main/abi-versions/v0.2.1) in native code.
//!
//! The host functions that the SDK imports are symbols of this test binary ([`abi`]), and [`guest`] calls a module's
//! exports as a proxy does. So the filter runs unchanged, with the real SDK. A test sets up a proxy, lets time and
//! requests pass, and looks at the state afterwards. It scripts no host calls.
//!
//! ```ignore
//! use burst_metrics as _; // links the filter
//! unsafe extern "C" {
//!     safe fn _initialize();
//! }
//!
//! let envoy = FakeEnvoy::new(Module::sdk_only(_initialize))
//!     .config(MINIMAL)
//!     .cluster("kube_api")
//!     .kube(|callout| api.answer(callout));
//! let (main, worker) = (envoy.main_thread(), envoy.worker());
//! main.tick().answer();
//! envoy.advance(Duration::from_secs(1));
//! assert_eq!(worker.response("web.shop").header("x-burst"), Some("service=shop/web, ..."));
//! ```
//!
//! One VM is one thread of this process. It runs only while the test waits for it, so nothing but [`Vm::before_write`]
//! and [`Vm::before_read`] interrupts a callback. Each [`FakeEnvoy`] is independent, so tests run in parallel. The
//! filter's log lines are printed as they come; the test harness shows them for a test that fails.
//!
//! # Like Envoy
//! The tests in `probe` name the behaviour that is the same. Statuses follow the sources of Envoy 1.40 and
//! proxy-wasm-cpp-host.
//!
//! # Unlike Envoy
//! - All VMs share the filter's statics and the level given to `set_log_level`. A VM that ends without a trap drops
//!   its thread-locals.
//! - A panic's text is logged even if the filter has never called `set_log_level`.
//! - CAS numbers belong to one fake, not to the process. Shared data survives the last VM of its id.
//! - A thread exists only if a test asks for it, the main thread included. Each thread has its VM at once, after a
//!   canary if the configuration has not had one.
//! - [`Vm::tick`] ticks when the test calls it, and does not move the clock.
//! - Properties: only those in [`property`]; no lists, maps or whole messages. `clear_route_cache` has no effect.
//! - Streams of callouts: no pause, no trailers, no `on_log`. [`Answer::Reset`] passes no headers to the upstream filter;
//!   a [`ChunkedBody`] that is reset does.
//! - Streams: no trailers, a body in one piece, and no body after a pause. A client sees the response as it leaves the filter chain.
//! - No TCP and no gRPC: every cluster is unknown to gRPC calls.
//! - The reload backoff has no jitter.
//! - Replies and resumed requests of one callback do not nest. More of them than the stack can hold still trap the VM.

mod abi;
mod callout;
mod chunked_body;
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
mod upstream_filter;
mod vm;
mod wire;

pub(crate) use callout::{Answer, Callout};
pub(crate) use chunked_body::ChunkedBody;
pub(crate) use envoy::{FakeEnvoy, Jump};
pub(crate) use guest::Module;
pub(crate) use log::{LogLine, ThreadName};
pub(crate) use message::{By, Request, Response, Seen};
pub(crate) use plugin::Plugin;
pub(crate) use proxy::{Access, FailurePolicy};
pub(crate) use route::Route;
pub(crate) use slot::Root;
pub(crate) use upstream_filter::UpstreamFilter;
pub(crate) use vm::{OpenStream, Vm};
