//! Has no callback of a stream: it costs only its place in the filter chain.
#![allow(missing_docs, reason = "the ABI of proxy-wasm")]

mod raw_abi;
