//! A panic of the guest is a trap: the VM stops where it is, and as in Wasm nothing is unwound or dropped.
//!
//! Natively, a panic would unwind into the SDK's `extern "C"` functions, which aborts the process. The panic hook
//! cannot simply block either: the standard library holds a lock around the hook, and the test harness waits for that
//! lock at its end. After the hook and before it unwinds, a panic allocates memory for its payload. The thread stops
//! for good in that allocation.

use super::thread;
use proxy_wasm::types::LogLevel;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::panic;
use std::sync::Once;

thread_local! {
    static TRAPPED: Cell<bool> = const { Cell::new(false) };
}

/// The system's allocator, except for a VM that has trapped.
struct StoppingTraps;

#[global_allocator]
static ALLOCATOR: StoppingTraps = StoppingTraps;

// SAFETY: each call either is forwarded to the system allocator or does not return.
unsafe impl GlobalAlloc for StoppingTraps {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if TRAPPED.try_with(Cell::take).unwrap_or_default() {
            thread::stop();
        }
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// Wraps the hook of the test harness, once, and keeps the SDK from replacing it. The SDK installs its own hook in the
/// first `set_log_level` of a process, so this makes that first call.
pub(super) fn on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        proxy_wasm::set_log_level(LogLevel::Info);
        panic::set_hook(Box::new(move |info| {
            let Some(vm) = thread::current() else {
                return usual(info);
            };
            match vm.try_lock() {
                Ok(mut vm) => vm.trap(info.to_string()),
                // The fake itself panicked: end the process.
                Err(_) => return usual(info),
            }
            TRAPPED.set(true);
        }));
    });
}
