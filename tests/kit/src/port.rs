//! Ports for servers that cannot choose one themselves.

use std::{
    net::{Ipv4Addr, TcpListener, TcpStream},
    ops::Range,
    sync::{
        OnceLock,
        atomic::{AtomicU16, Ordering},
    },
};

/// Below the ports that the system hands out by itself, so that no outgoing connection takes a port between our look and the
/// server's bind.
const RANGE: Range<u16> = 20_000..32_000;

/// The number of ports of a process. Its first port only marks the block as taken.
const BLOCK: u16 = 500;

/// The ports that this process gave out so far. It gives none twice before it has given each port of its block.
static GIVEN: AtomicU16 = AtomicU16::new(0);

/// Returns a port of 127.0.0.1 on which no process listens, and which no other process with this code gives out.
///
/// # Panics
/// When every port of this process is taken, or 24 processes have taken every block.
#[must_use]
pub fn free() -> u16 {
    (1..BLOCK)
        .map(|_| next())
        // Not by a bind: a process that another thread starts just now would hold that for some time longer.
        .find(|port| TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).is_err())
        .expect("a free port")
}

fn next() -> u16 {
    block() + 1 + GIVEN.fetch_add(1, Ordering::Relaxed) % (BLOCK - 1)
}

/// The first port of the block of this process, which listens on it until it ends: test programs run side by side, and a port
/// that one of them gave out may stay without a listener for some time.
fn block() -> u16 {
    static MARK: OnceLock<(u16, TcpListener)> = OnceLock::new();
    let take = |port| Some((port, TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok()?));
    MARK.get_or_init(|| {
        RANGE
            .step_by(usize::from(BLOCK))
            .find_map(take)
            .expect("a free block of ports")
    })
    .0
}

#[cfg(test)]
mod tests {
    use std::{process::Command, sync::atomic::AtomicBool};

    use super::*;

    #[test]
    fn no_port_is_given_twice() {
        assert_ne!(free(), free());
    }

    #[test]
    fn another_process_takes_another_block() {
        let marked = TcpListener::bind((Ipv4Addr::LOCALHOST, block()));
        assert!(marked.is_err(), "the block is marked");
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
