//! The log. Each line leaves the filter here, and nowhere else: of a bounded length, printable, and so many a minute,
//! whatever foreign text is in it. The SDK's own logger, and with it the `log` crate, formats and passes on whatever it is
//! given, so neither is used.

use crate::host;
use burst_model::printable::printable;
use burst_model::quota::Quota;
use proxy_wasm::hostcalls;
use proxy_wasm::types::LogLevel;
use std::cell::RefCell;
use std::fmt::Arguments;

/// Bytes of a line. The longest that the filter writes of its own is the one that lists all keys of the configuration.
const LONGEST: usize = 4 << 10;

/// Lines of a VM in a minute.
const MOST_LINES: usize = 60;

thread_local! {
    static LINES: RefCell<Quota> = const { RefCell::new(Quota::new(MOST_LINES)) };
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

fn write(level: LogLevel, line: Arguments<'_>) {
    let (allowed, left_out) = LINES.with_borrow_mut(|lines| lines.take(host::now()));
    if left_out > 0 {
        put(
            LogLevel::Warn,
            format_args!("{left_out} lines of the last minute were left out"),
        );
    }
    if allowed {
        put(level, line);
    }
}

fn put(level: LogLevel, line: Arguments<'_>) {
    let _ = hostcalls::log(level, &printable(line, LONGEST));
}

/// Has a panic say where it was: without this it is a trap without a word.
pub(crate) fn on_panic() {
    // Natively the panics of the fake host's guests are its own affair.
    #[cfg(target_arch = "wasm32")]
    std::panic::set_hook(Box::new(|panic| put(LogLevel::Critical, format_args!("{panic}"))));
}
