//! The resident memory of a process, over time.

use std::fs;
use std::time::Duration;

/// Measurements of a process's memory.
pub(crate) struct Memory {
    process: u32,
    now: u64,
    /// Only measurements after the warm-up.
    seen: Vec<(Duration, u64)>,
}

/// The memory just after the warm-up and at the end.
#[derive(Clone, Copy, serde::Serialize)]
pub(crate) struct Growth {
    pub(crate) warm_bytes: u64,
    pub(crate) end_bytes: u64,
}

impl Growth {
    pub(crate) fn bytes(self) -> u64 {
        self.end_bytes.saturating_sub(self.warm_bytes)
    }
}

impl Memory {
    pub(crate) fn of(process: u32) -> Self {
        Self {
            process,
            now: 0,
            seen: Vec::new(),
        }
    }

    /// Measures the memory, this long after the warm-up.
    pub(crate) fn measure(&mut self, at: Option<Duration>) {
        self.now = resident(self.process);
        self.seen.extend(at.map(|at| (at, self.now)));
    }

    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// The medians of the first third and of the last. A median ignores an answer that is large for a moment, and VMs
    /// that exist twice while one configuration replaces another.
    pub(crate) fn growth(&self, length: Duration) -> Growth {
        let median = |of: std::ops::Range<Duration>| {
            let seen = self.seen.iter().filter(|(at, _)| of.contains(at));
            let mut bytes: Vec<_> = seen.map(|(_, bytes)| *bytes).collect();
            bytes.sort_unstable();
            bytes.get(bytes.len() / 2).copied().unwrap_or_default()
        };
        Growth {
            warm_bytes: median(Duration::ZERO..length / 3),
            end_bytes: median(length * 2 / 3..length),
        }
    }
}

/// <https://man7.org/linux/man-pages/man5/proc_pid_status.5.html>
fn resident(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
    kilobytes.map_or(0, |kilobytes: u64| kilobytes * 1024)
}
