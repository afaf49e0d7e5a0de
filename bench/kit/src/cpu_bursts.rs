//! How long the threads of an Envoy stay on a CPU at a time.
//!
//! A thread of Envoy runs its callbacks and sleeps when there is none left, so no callback is longer than the time on a
//! CPU between two moments at which the thread was seen asleep. Whoever looks too seldom takes two stretches for one:
//! what is found here is never too short.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};

use crate::process::{Cpu, text};

/// Between two looks.
const PACE: Duration = Duration::from_millis(1);

/// Which of Envoy's threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thread {
    Main,
    Worker,
}

/// The longest stretches so far, of the main thread and of any worker.
#[derive(Clone, Copy, Debug, Default)]
pub struct Longest {
    pub main: Duration,
    pub worker: Duration,
}

/// A look at all threads of a process, every millisecond.
pub struct Stretches {
    longest: Arc<Mutex<Longest>>,
    /// Closed to stop it.
    _running: mpsc::Sender<()>,
    _watcher: JoinHandle<()>,
}

impl Stretches {
    pub fn watch(process: u32) -> Self {
        let longest = Arc::new(Mutex::new(Longest::default()));
        let (running, stopped) = mpsc::channel();
        let mut threads = threads(process);
        let found = longest.clone();
        let watcher = thread::spawn(move || {
            while stopped.recv_timeout(PACE) == Err(mpsc::RecvTimeoutError::Timeout) {
                for thread in &mut threads {
                    // The process is gone before its watcher is.
                    let Some(stretch) = thread.look() else { continue };
                    let mut longest = found.lock().unwrap_or_else(PoisonError::into_inner);
                    let longest = match thread.which {
                        Thread::Main => &mut longest.main,
                        Thread::Worker => &mut longest.worker,
                    };
                    *longest = stretch.max(*longest);
                }
            }
        });
        Self {
            longest,
            _running: running,
            _watcher: watcher,
        }
    }

    /// What was found since the last time.
    pub fn take(&self) -> Longest {
        std::mem::take(&mut self.longest.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

struct Watched {
    which: Thread,
    folder: PathBuf,
    /// When it was last seen asleep.
    asleep: Option<Cpu>,
}

impl Watched {
    /// The time on a CPU since it was last seen asleep, where it is again.
    fn look(&mut self) -> Option<Duration> {
        let now = Cpu::of(&self.folder)?;
        if self.asleep == Some(now) || !self.sleeps() || Cpu::of(&self.folder) != Some(now) {
            return None;
        }
        let before = self.asleep.replace(now)?;
        Some(now.time.saturating_sub(before.time))
    }

    /// <https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html>
    fn sleeps(&self) -> bool {
        let stat = fs::read_to_string(self.folder.join("stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'))
    }
}

fn threads(process: u32) -> Vec<Watched> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).expect("a process");
    let tasks: BTreeMap<_, _> = tasks
        .map(|task| task.expect("a thread"))
        .map(|task| (task.file_name(), task.path()))
        .collect();
    let which = |(id, folder): (std::ffi::OsString, PathBuf)| {
        let which = if text(&folder.join("comm")).starts_with("wrk:") {
            Thread::Worker
        } else if id == *process.to_string() {
            Thread::Main
        } else {
            return None;
        };
        Some(Watched {
            which,
            folder,
            asleep: None,
        })
    };
    tasks.into_iter().filter_map(which).collect()
}
