//! What the kernel knows of a process.
#![allow(dead_code, reason = "a benchmark needs a part")]

use std::{fs, path::Path, time::Duration};

/// Time on a CPU: of all threads, and of each of Envoy's workers.
pub(crate) struct Spent {
    pub(crate) process: Duration,
    pub(crate) workers: Vec<Duration>,
}

/// What the threads have spent so far. Neither Envoy nor a Go program ends threads in the middle of its work.
/// <https://docs.kernel.org/scheduler/sched-stats.html#proc-pid-schedstat>
pub(crate) fn spent(process: u32) -> Spent {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).expect("a process");
    let mut spent = Spent {
        process: Duration::ZERO,
        workers: Vec::new(),
    };
    for task in tasks {
        let task = task.expect("a thread").path();
        let time = on_cpu(&task);
        spent.process += time;
        if text(&task.join("comm")).starts_with("wrk:") {
            spent.workers.push(time);
        }
    }
    spent
}

fn on_cpu(task: &Path) -> Duration {
    let text = text(&task.join("schedstat"));
    let nanoseconds = text.split(' ').next().and_then(|number| number.parse().ok());
    Duration::from_nanos(nanoseconds.expect("nanoseconds"))
}

/// Bytes of memory that it holds.
pub(crate) fn resident(process: u32) -> u64 {
    let rollup = text(Path::new(&format!("/proc/{process}/smaps_rollup")));
    let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kibibytes.expect("a size") << 10
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
