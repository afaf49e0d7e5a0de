//! The resident memory of a process, over time.

use std::fs;
use std::time::Duration;

/// What was seen of it.
pub(crate) struct Memory {
    process: u32,
    seen: Vec<(Duration, u64)>,
}

/// Between the end of the warm-up and the end.
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
            seen: Vec::new(),
        }
    }

    pub(crate) fn look(&mut self, at: Duration) {
        self.seen.push((at, resident(self.process)));
    }

    pub(crate) fn now(&self) -> u64 {
        self.seen.last().map_or(0, |(_, bytes)| *bytes)
    }

    /// The first third is the warm-up. Medians of a sixth: an answer that is large for a moment does not count.
    pub(crate) fn growth(&self, length: Duration) -> Growth {
        let between = |from: u32, to: u32| {
            let place = |(at, _): &&(Duration, u64)| (length * from / 6..length * to / 6).contains(at);
            let mut bytes: Vec<_> = self.seen.iter().filter(place).map(|(_, bytes)| *bytes).collect();
            bytes.sort_unstable();
            bytes.get(bytes.len() / 2).copied().unwrap_or_default()
        };
        Growth {
            warm_bytes: between(2, 3),
            end_bytes: between(5, 6),
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
