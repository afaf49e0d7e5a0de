//! How long the threads of an Envoy stay on a CPU at a time.
//!
//! A thread of Envoy runs its callbacks and sleeps when none is left. A *CPU burst* is the CPU time between two moments at
//! which the thread was seen asleep, so no callback is longer than the longest burst. Sampling can miss a short sleep and
//! count two bursts as one: the result is never too short.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};

use crate::process::{ThreadCpu, text};

/// Time between two samples.
const INTERVAL: Duration = Duration::from_millis(1);

/// The longest CPU bursts of the main thread and of any worker.
#[derive(Clone, Copy, Debug, Default)]
pub struct LongestBursts {
    /// Of the main thread.
    pub main: Duration,
    /// Of any worker.
    pub worker: Duration,
}

/// Samples all threads of a process every millisecond, until it is dropped.
pub struct BurstSampler {
    longest: Arc<Mutex<LongestBursts>>,
    /// Dropping the sender stops the sampling thread.
    _running: mpsc::Sender<()>,
    _thread: JoinHandle<()>,
}

impl BurstSampler {
    /// Starts to sample the threads that the process has now.
    ///
    /// # Panics
    /// If the process has ended.
    #[must_use]
    pub fn start(process: u32) -> Self {
        let longest = Arc::new(Mutex::new(LongestBursts::default()));
        let (running, stopped) = mpsc::channel();
        let mut threads = sampled_threads(process);
        let found = longest.clone();
        let thread = thread::spawn(move || {
            while stopped.recv_timeout(INTERVAL) == Err(mpsc::RecvTimeoutError::Timeout) {
                for thread in &mut threads {
                    // The process may end before the sampler.
                    let Some(burst) = thread.sample() else { continue };
                    let mut bursts = found.lock().unwrap_or_else(PoisonError::into_inner);
                    let longest_of_role = match thread.role {
                        Role::Main => &mut bursts.main,
                        Role::Worker => &mut bursts.worker,
                    };
                    *longest_of_role = burst.max(*longest_of_role);
                }
            }
        });
        Self {
            longest,
            _running: running,
            _thread: thread,
        }
    }

    /// Returns the longest bursts since the last call.
    #[must_use]
    pub fn take(&self) -> LongestBursts {
        std::mem::take(&mut self.longest.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Forgets the bursts so far.
    pub fn reset(&self) {
        let _ = self.take();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Main,
    Worker,
}

struct SampledThread {
    role: Role,
    folder: PathBuf,
    /// The thread's CPU time when it was last seen asleep.
    asleep: Option<ThreadCpu>,
}

impl SampledThread {
    /// Returns the CPU time since the thread was last seen asleep, if it is asleep again.
    fn sample(&mut self) -> Option<Duration> {
        let now = ThreadCpu::of(&self.folder)?;
        if self.asleep == Some(now) || !self.is_asleep() || ThreadCpu::of(&self.folder) != Some(now) {
            return None;
        }
        let before = self.asleep.replace(now)?;
        Some(now.time.saturating_sub(before.time))
    }

    /// <https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html>
    fn is_asleep(&self) -> bool {
        let stat = fs::read_to_string(self.folder.join("stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'))
    }
}

fn sampled_threads(process: u32) -> Vec<SampledThread> {
    let tasks: BTreeMap<_, _> = fs::read_dir(format!("/proc/{process}/task"))
        .expect("a process")
        .map(|task| task.expect("a thread"))
        .map(|task| (task.file_name(), task.path()))
        .collect();
    let sampled = tasks.into_iter().filter_map(|(id, folder)| {
        Some(SampledThread {
            role: role(process, &id, &folder)?,
            folder,
            asleep: None,
        })
    });
    sampled.collect()
}

/// Envoy has other threads, which run no filter.
fn role(process: u32, id: &OsStr, folder: &Path) -> Option<Role> {
    if text(&folder.join("comm")).starts_with("wrk:") {
        Some(Role::Worker)
    } else if *id == *process.to_string() {
        Some(Role::Main)
    } else {
        None
    }
}
