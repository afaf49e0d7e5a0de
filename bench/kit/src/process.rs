//! What the kernel knows of a process.

use std::{fs, path::Path, time::Duration};

/// Time on a CPU: of all threads, and of each of Envoy's workers.
pub struct Spent {
    pub process: Duration,
    pub workers: Vec<Duration>,
}

/// What the threads have spent so far. Neither Envoy nor a Go program ends threads in the middle of its work.
pub fn spent(process: u32) -> Spent {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).expect("a process");
    let mut spent = Spent {
        process: Duration::ZERO,
        workers: Vec::new(),
    };
    for task in tasks {
        let task = task.expect("a thread").path();
        let time = Cpu::of(&task).expect("a thread").time;
        spent.process += time;
        if text(&task.join("comm")).starts_with("wrk:") {
            spent.workers.push(time);
        }
    }
    spent
}

/// A thread's time on a CPU so far, and how often it came onto one.
/// <https://docs.kernel.org/scheduler/sched-stats.html#proc-pid-schedstat>
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    pub time: Duration,
    times: u64,
}

impl Cpu {
    /// Of the thread with that folder in `/proc`; `None` where it has ended.
    pub fn of(task: &Path) -> Option<Self> {
        let text = fs::read_to_string(task.join("schedstat")).ok()?;
        let mut numbers = text.split_whitespace().filter_map(|number| number.parse().ok());
        Some(Self {
            time: Duration::from_nanos(numbers.next()?),
            // Between the two stands how long it waited for a CPU.
            times: numbers.nth(1)?,
        })
    }
}

/// Bytes of memory that it holds.
pub fn resident(process: u32) -> u64 {
    let rollup = text(Path::new(&format!("/proc/{process}/smaps_rollup")));
    let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kibibytes.expect("a size") << 10
}

pub fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
