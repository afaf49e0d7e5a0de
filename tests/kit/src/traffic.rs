//! Clients that send a request again and again, so that no failure between two looks goes unseen.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::{
    http::{Answer, Connection, KeepAlive, Request},
    wait,
};

/// Between two requests of a client. Some hundred a second find every gap, and leave the machine to the others.
const PACE: Duration = Duration::from_millis(5);

/// For some answers to come, on a machine with much else to do.
const PATIENCE: Duration = Duration::from_secs(120);

/// Requests that may meet a connection just closed: no test changes the configuration more often.
const MAX_RETRIES: usize = 3;

/// Failures that a message shows.
const SHOWN_FAILURES: usize = 5;

/// Traffic about to be started.
#[derive(Clone, Debug)]
pub struct TrafficBuilder {
    address: SocketAddr,
    requests: Vec<Request>,
    clients: usize,
    pace: Duration,
    keep_alive: bool,
    wanted: fn(&Answer) -> bool,
}

impl TrafficBuilder {
    /// Sends this request as well, by clients of its own.
    #[must_use]
    pub fn and(mut self, request: Request) -> Self {
        self.requests.push(request);
        self
    }

    /// So many clients for each request, instead of one.
    #[must_use]
    pub fn clients(mut self, clients: usize) -> Self {
        self.clients = clients;
        self
    }

    /// The pause of a client after each answer; 5 ms by default.
    #[must_use]
    pub fn pace(mut self, pace: Duration) -> Self {
        self.pace = pace;
        self
    }

    /// A new connection for each request, so that the requests come to every worker. By default a client keeps its
    /// connection for as long as the server does.
    #[must_use]
    pub fn new_connections(mut self) -> Self {
        self.keep_alive = false;
        self
    }

    /// Every other answer is a failure.
    #[must_use]
    pub fn expecting(mut self, wanted: fn(&Answer) -> bool) -> Self {
        self.wanted = wanted;
        self
    }

    /// Starts the clients.
    #[must_use]
    pub fn start(self) -> Traffic {
        let shared = Arc::<TrafficLog>::default();
        let client = |request: &Request| {
            let (shared, builder, request) = (shared.clone(), self.clone(), request.clone());
            thread::spawn(move || builder.run(&request, &shared))
        };
        let clients = self
            .requests
            .iter()
            .flat_map(|request| std::iter::repeat_n(request, self.clients))
            .map(client)
            .collect();
        Traffic { shared, clients }
    }

    fn run(&self, request: &Request, shared: &TrafficLog) {
        let mut client = TrafficClient::of(self);
        let mut answered = Instant::now();
        while !shared.stopped.load(Ordering::Relaxed) {
            let outcome = client.ask(request);
            let mut seen = shared.seen();
            seen.longest_gap = seen.longest_gap.max(answered.elapsed());
            answered = Instant::now();
            match outcome {
                Ok(answer) if (self.wanted)(&answer) => seen.answers.push(answer),
                Ok(answer) => seen.failures.push(format!("{answer:?}")),
                Err(error) => seen.failures.push(error),
            }
            drop(seen);
            thread::sleep(self.pace);
        }
    }
}

/// A client of one address.
enum TrafficClient {
    KeepAlive { connection: KeepAlive, retries: usize },
    NewConnections(SocketAddr),
}

impl TrafficClient {
    fn of(traffic: &TrafficBuilder) -> Self {
        if traffic.keep_alive {
            let connection = KeepAlive::to(traffic.address);
            Self::KeepAlive { connection, retries: 0 }
        } else {
            Self::NewConnections(traffic.address)
        }
    }

    fn ask(&mut self, request: &Request) -> Result<Answer, String> {
        match self {
            Self::NewConnections(address) => Connection::open(*address)
                .and_then(|mut connection| connection.ask(request))
                .map_err(|error| error.to_string()),
            Self::KeepAlive { connection, retries } => {
                let (answer, again) = connection.ask(request).map_err(|error| error.to_string())?;
                *retries += usize::from(again);
                if *retries > MAX_RETRIES {
                    return Err("the server closes connections without need".to_owned());
                }
                Ok(answer)
            }
        }
    }
}

/// What the clients share with the test.
#[derive(Debug, Default)]
struct TrafficLog {
    stopped: AtomicBool,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    answers: Vec<Answer>,
    failures: Vec<String>,
    longest_gap: Duration,
}

impl TrafficLog {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Clients at work, until this is stopped or dropped.
#[derive(Debug)]
pub struct Traffic {
    shared: Arc<TrafficLog>,
    clients: Vec<JoinHandle<()>>,
}

impl Traffic {
    /// One client that sends the request to the address over a connection that it keeps; every answer is good.
    #[must_use]
    pub fn to(address: SocketAddr, request: Request) -> TrafficBuilder {
        TrafficBuilder {
            address,
            requests: vec![request],
            clients: 1,
            pace: PACE,
            keep_alive: true,
            wanted: |_| true,
        }
    }

    /// The longest that a client went without an answer: when it is long, the proxy or the machine stood still.
    #[must_use]
    pub fn longest_gap(&self) -> Duration {
        self.shared.seen().longest_gap
    }

    /// The number of requests that failed so far.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.shared.seen().failures.len()
    }

    /// The number of good answers so far that match.
    #[must_use]
    pub fn count(&self, matches: impl Fn(&Answer) -> bool) -> usize {
        self.shared
            .seen()
            .answers
            .iter()
            .filter(|answer| matches(answer))
            .count()
    }

    /// Waits for that many good answers more.
    ///
    /// # Panics
    /// When they do not come in time.
    #[track_caller]
    pub fn wait_for_more(&self, count: usize) {
        let wanted = self.shared.seen().answers.len() + count;
        wait::for_ok(PATIENCE, &format!("{count} answers more"), || {
            let seen = self.shared.seen();
            if seen.answers.len() >= wanted {
                Ok(())
            } else {
                Err(format!(
                    "{} of {wanted}, failed: {:?}",
                    seen.answers.len(),
                    seen.failures.first()
                ))
            }
        });
    }

    /// Waits until the newest good answer matches.
    ///
    /// # Panics
    /// When none does in time, or a request failed.
    #[track_caller]
    pub fn wait_for(&self, matches: impl Fn(&Answer) -> bool) {
        wait::until(PATIENCE, "an answer that matches", || {
            let seen = self.shared.seen();
            seen.assert_no_failure();
            seen.answers.last().is_some_and(&matches)
        });
    }

    /// Stops the clients, and gives every answer.
    ///
    /// # Panics
    /// When a request failed, or a client panicked.
    #[track_caller]
    pub fn stop(mut self) -> Vec<Answer> {
        self.end();
        let mut seen = self.shared.seen();
        seen.assert_no_failure();
        std::mem::take(&mut seen.answers)
    }

    fn end(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        for client in self.clients.drain(..) {
            let ended = client.join();
            assert!(ended.is_ok() || thread::panicking(), "a client panicked");
        }
    }
}

impl Seen {
    #[track_caller]
    fn assert_no_failure(&self) {
        assert!(
            self.failures.is_empty(),
            "{} of {} requests failed: {:#?}",
            self.failures.len(),
            self.failures.len() + self.answers.len(),
            &self.failures[..self.failures.len().min(SHOWN_FAILURES)]
        );
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.end();
    }
}
