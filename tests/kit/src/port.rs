//! Ports for servers that cannot choose one themselves.

use std::{
    hash::{BuildHasher, RandomState},
    net::{Ipv4Addr, TcpStream},
    ops::Range,
    sync::atomic::{AtomicU16, Ordering},
};

/// Below what the system hands out by itself, so that no outgoing connection takes a port between our look and the
/// server's bind.
const RANGE: Range<u16> = 20_000..32_000;

/// Ports given out by this process so far: none is given twice.
static GIVEN: AtomicU16 = AtomicU16::new(0);

/// A port of 127.0.0.1 that no process listens on.
///
/// # Panics
/// When every port of the range is taken.
#[must_use]
pub fn free() -> u16 {
    (0..RANGE.len())
        .map(|_| next())
        // Not by a bind: a process that another thread starts just now would hold that for some time longer.
        .find(|port| TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).is_err())
        .expect("a free port")
}

/// Processes begin at different places, so that two test runs at once seldom meet.
fn next() -> u16 {
    static START: std::sync::OnceLock<u16> = std::sync::OnceLock::new();
    let width = RANGE.end - RANGE.start;
    let start = *START.get_or_init(|| {
        let chance = RandomState::new().hash_one(std::process::id()) % u64::from(width);
        u16::try_from(chance).expect("below the width")
    });
    RANGE.start + (start + GIVEN.fetch_add(1, Ordering::Relaxed) % width) % width
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, process::Command, sync::atomic::AtomicBool};

    use super::*;

    #[test]
    fn no_port_is_given_twice() {
        assert_ne!(free(), free());
    }

    #[test]
    fn a_port_can_be_listened_on_at_once_while_processes_are_started() {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    Command::new("true").status().expect("a process");
                }
            });
            let listens = (0..2_000).all(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, free())).is_ok());
            done.store(true, Ordering::Relaxed);
            assert!(listens);
        });
    }
}
