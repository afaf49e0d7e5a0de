//! The live page in headless Chromium: on the real filter in a real Envoy, and on a server of its own with answers that no
//! cluster gives. `crates/burst-lab/tests/envoy_local/` has the page as `make run` serves it.
//!
//! Needs what `envoy` needs, and `setup/chromium`.

mod answers;
mod keyboard;
mod large;
mod proxy;
mod rows;
mod screen;
mod server;
