//! The log of the filter. Every line goes through here: it has a limited length, is printable, and there are so many in a
//! minute at most. The logger of the SDK, and so the `log` crate, would pass on any text that a request or an object holds.

use crate::host;
use burst_model::failure_state::StateChange;
use burst_model::printable::printable;
use burst_model::quota::Quota;
use proxy_wasm::hostcalls;
use proxy_wasm::types::LogLevel;
use std::cell::RefCell;
use std::fmt::{Arguments, Display};

/// Bytes of a line. The longest line of the filter itself lists all keys of the configuration.
const MAX_LINE_BYTES: usize = 4 << 10;

/// Lines of a VM in a minute.
const MAX_LINES: usize = 60;

thread_local! {
    static LINES: RefCell<Quota> = const { RefCell::new(Quota::new(MAX_LINES)) };
}

pub(crate) fn error(line: Arguments<'_>) {
    write(LogLevel::Error, line);
}

pub(crate) fn warn(line: Arguments<'_>) {
    write(LogLevel::Warn, line);
}

pub(crate) fn info(line: Arguments<'_>) {
    write(LogLevel::Info, line);
}

/// Logs that something begins to fail, or fails in another way, or works again.
pub(crate) fn state_change<F: Display>(change: Option<&StateChange<'_, F>>, failing: &str, recovered: &str) {
    match change {
        Some(StateChange::Failed(failure)) => warn(format_args!("{failing}: {failure}")),
        Some(StateChange::Recovered) => info(format_args!("{recovered}")),
        None => {}
    }
}

fn write(level: LogLevel, line: Arguments<'_>) {
    let (is_allowed, dropped) = LINES.with_borrow_mut(|lines| lines.take(host::now()));
    if dropped > 0 {
        send(
            LogLevel::Warn,
            format_args!("{dropped} lines of the last minute were left out"),
        );
    }
    if is_allowed {
        send(level, line);
    }
}

fn send(level: LogLevel, line: Arguments<'_>) {
    let _ = hostcalls::log(level, &printable(line, MAX_LINE_BYTES));
}

/// Makes a panic log where it happened. Without this the host sees a trap only.
pub(crate) fn log_panics() {
    // In native tests the fake host reports the panics of its guests.
    #[cfg(target_arch = "wasm32")]
    std::panic::set_hook(Box::new(|panic| send(LogLevel::Critical, format_args!("{panic}"))));
}
