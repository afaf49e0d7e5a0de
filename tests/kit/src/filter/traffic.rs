//! Requests one after the other over connections that are kept, until it is told to stop.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::{http::Answer, wait};

use super::{Kept, PATIENCE, Request};

/// Between two requests. Some hundred a second find every gap, and leave the machine to the others.
const PACE: Duration = Duration::from_millis(5);

/// Requests that may meet a connection just closed: no story changes the configuration more often.
const ASKED_AGAIN: usize = 3;

/// Longer than an answer takes where somebody gives one: the machine stood still, or the proxy on it.
const STANDSTILL: Duration = Duration::from_secs(1);

/// Traffic that is under way.
#[derive(Debug)]
pub struct Traffic {
    answers: Arc<Mutex<Vec<Answer>>>,
    stood_still: Arc<AtomicBool>,
    /// Closed to stop it.
    running: mpsc::Sender<()>,
    client: JoinHandle<()>,
}

impl Traffic {
    /// Sends the request again and again, from now on.
    pub fn start(address: SocketAddr, request: &Request) -> Self {
        let answers = Arc::new(Mutex::new(Vec::new()));
        let (running, stopped) = mpsc::channel();
        let stood_still = Arc::new(AtomicBool::new(false));
        let (request, kept, still) = (request.clone(), answers.clone(), stood_still.clone());
        let client = thread::spawn(move || {
            let (mut connection, mut asked_again) = (Kept::to(address), 0);
            let mut last = Instant::now();
            while stopped.recv_timeout(PACE) == Err(mpsc::RecvTimeoutError::Timeout) {
                let (answer, again) = connection.ask(&request).expect("an answer");
                still.fetch_or(last.elapsed() > STANDSTILL, Ordering::Relaxed);
                last = Instant::now();
                asked_again += usize::from(again);
                assert!(asked_again <= ASKED_AGAIN, "connections are closed without need");
                kept.lock().expect("nobody panicked").push(answer);
            }
        });
        Self {
            answers,
            stood_still,
            running,
            client,
        }
    }

    /// Whether there was ever no answer for so long that the proxy cannot have been at work.
    pub fn stood_still(&self) -> bool {
        self.stood_still.load(Ordering::Relaxed)
    }

    /// How many answers so far are so.
    pub fn count(&self, is_so: impl Fn(&Answer) -> bool) -> usize {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.iter().filter(|answer| is_so(answer)).count()
    }

    /// Waits until there are so many answers.
    ///
    /// # Panics
    /// When there are not in time, or a request broke.
    #[track_caller]
    pub fn wait_for_more_than(&self, count: usize) {
        wait::for_ok(PATIENCE, &format!("more than {count} answers"), || {
            assert!(!self.client.is_finished(), "a request broke");
            let answered = self.count(|_| true);
            if answered > count { Ok(()) } else { Err(answered) }
        });
    }

    /// Waits for an answer that fits.
    ///
    /// # Panics
    /// When none comes in time, or a request broke.
    #[track_caller]
    pub fn wait_for(&self, fits: impl Fn(&Answer) -> bool) {
        wait::until(PATIENCE, "an answer that fits", || {
            assert!(!self.client.is_finished(), "a request broke");
            let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
            answers.last().is_some_and(&fits)
        });
    }

    /// Everything that was answered.
    ///
    /// # Panics
    /// When a request broke.
    #[track_caller]
    pub fn stop(self) -> Vec<Answer> {
        drop(self.running);
        self.client.join().expect("no request broke");
        std::mem::take(&mut *self.answers.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
