//! `make run CONTEXT=name`, with the real Envoy and the real filter before a real cluster. Not among the tests of
//! `envoy_local`: one of those has cargo put a `burst-lab` that knows no context in the place of this one.

mod cluster;
#[path = "../envoy_local/ground.rs"]
#[allow(dead_code, reason = "there are no sample services here to ask")]
mod ground;
