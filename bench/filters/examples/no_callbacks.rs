//! No callback of a stream: what it costs to stand in the chain.
#![allow(missing_docs, reason = "the ABI of proxy-wasm")]

mod raw_abi;
