//! CPU time and memory of a process, as the kernel counts them.

use std::{fs, path::Path, time::Duration};

/// Time on a CPU, of all threads of a process and of each of Envoy's workers.
pub struct CpuTime {
    /// All threads together.
    pub process: Duration,
    /// Each worker of an Envoy. Empty for any other program.
    pub workers: Vec<Duration>,
}

/// Returns the CPU time of the process's threads so far. A thread that has ended does not count any more, but neither
/// Envoy nor a Go program ends threads while it works.
///
/// # Panics
/// If the process has ended.
#[must_use]
pub fn cpu_time(process: u32) -> CpuTime {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).expect("a process");
    let mut total = CpuTime {
        process: Duration::ZERO,
        workers: Vec::new(),
    };
    for task in tasks {
        let task = task.expect("a thread").path();
        let time = ThreadCpu::of(&task).expect("a thread").time;
        total.process += time;
        if text(&task.join("comm")).starts_with("wrk:") {
            total.workers.push(time);
        }
    }
    total
}

/// A thread's time on a CPU so far, and how often the scheduler has put it on one.
/// <https://docs.kernel.org/scheduler/sched-stats.html#proc-pid-schedstat>
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadCpu {
    pub(crate) time: Duration,
    timeslices: u64,
}

impl ThreadCpu {
    /// Reads it for the thread with this folder in `/proc`. `None` if the thread has ended.
    pub(crate) fn of(task: &Path) -> Option<Self> {
        let text = fs::read_to_string(task.join("schedstat")).ok()?;
        let mut numbers = text.split_whitespace().filter_map(|number| number.parse().ok());
        Some(Self {
            time: Duration::from_nanos(numbers.next()?),
            // The number between the two is the time that the thread waited for a CPU.
            timeslices: numbers.nth(1)?,
        })
    }
}

/// Returns the resident memory of a process, in bytes.
///
/// # Panics
/// If the process has ended.
#[must_use]
pub fn resident_bytes(process: u32) -> u64 {
    let rollup = text(Path::new(&format!("/proc/{process}/smaps_rollup")));
    let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kibibytes.expect("a size") << 10
}

pub(crate) fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
