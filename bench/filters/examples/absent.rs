//! No callback of a stream: what it costs to stand in the chain.
#![allow(missing_docs, reason = "the ABI of proxy-wasm")]

/// For what the host may hand over; nothing is looked at.
static mut ANSWER: [u8; 64] = [0; 64];

#[unsafe(no_mangle)]
pub extern "C" fn _initialize() {}

#[unsafe(no_mangle)]
pub extern "C" fn proxy_abi_version_0_2_1() {}

#[cfg_attr(target_arch = "wasm32", unsafe(export_name = "malloc"))]
pub extern "C" fn allocate(size: usize) -> *mut u8 {
    let place = &raw mut ANSWER;
    if size > 64 { std::ptr::null_mut() } else { place.cast() }
}
