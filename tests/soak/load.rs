//! Requests over keep-alive connections. The expected answer of each one is known.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use burst_testkit::{
    filter::{NGSA_1_CLUSTER, echo},
    http::{Answer, KeepAlive, Request},
};

/// The listener balances connections exactly, so each of the two workers gets half of them.
pub(crate) const CONNECTIONS: usize = 4;

/// The pause between two requests of a connection, which leaves the machine time for the faults.
const PACE: Duration = Duration::from_millis(2);

/// One in this many requests goes to an endpoint of the filter.
const OWN: usize = 50;

/// Answers that the upstream gives. The client must receive them unchanged.
const WANTED: [(u16, usize); 5] = [(200, 6), (200, 20_000), (404, 100), (500, 0), (503, 1_000)];

/// The counts so far.
#[derive(Clone, Default)]
pub(crate) struct Tally {
    pub(crate) requests: u64,
    /// Responses with another status or body than the upstream's.
    pub(crate) changed: u64,
    /// Requests that were not answered.
    pub(crate) broken: u64,
    /// Requests that were sent again because the kept connection was closed.
    pub(crate) again: u64,
    /// Answers that the filter must not give.
    pub(crate) odd: u64,
    pub(crate) with_header: u64,
    /// The greatest age of a snapshot at the time of the request.
    pub(crate) oldest: Duration,
    /// The first unexpected answer.
    pub(crate) first: Option<String>,
}

impl Tally {
    fn record_failure(&mut self, what: impl FnOnce() -> String) -> u64 {
        if self.first.is_none() {
            self.first = Some(what());
        }
        1
    }

    /// Checks the answer to a request that was sent at that time.
    fn check(&mut self, answer: &Answer, sent: Duration, (status, length): (u16, usize)) {
        if answer.status != status || answer.body != echo(length) {
            self.changed += self.record_failure(|| format!("{status} with {length} bytes came as {answer:.200?}"));
        }
        let Some(header) = answer.header("x-burst") else { return };
        self.with_header += 1;
        match as_of(header) {
            Some(as_of) => self.oldest = self.oldest.max(sent.saturating_sub(as_of)),
            None => self.odd += self.record_failure(|| format!("x-burst: {header}")),
        }
    }
}

/// The Unix time in the header, in whole seconds.
fn as_of(header: &str) -> Option<Duration> {
    let rest = header.split_once("as-of=")?.1;
    let digits = rest.split(',').next()?;
    digits.parse().ok().map(Duration::from_secs)
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Runs load until it is stopped.
pub(crate) struct Load {
    tally: Arc<Mutex<Tally>>,
    over: Arc<AtomicBool>,
    clients: Vec<JoinHandle<()>>,
}

impl Load {
    pub(crate) fn start(address: SocketAddr) -> Self {
        let (tally, over) = (Arc::new(Mutex::default()), Arc::new(AtomicBool::new(false)));
        let client = |_| {
            let (tally, over) = (Arc::clone(&tally), Arc::clone(&over));
            thread::spawn(move || ask(address, &tally, &over))
        };
        let clients = (0..CONNECTIONS).map(client).collect();
        Self { tally, over, clients }
    }

    pub(crate) fn tally(&self) -> Tally {
        locked(&self.tally).clone()
    }

    /// Stops the clients and returns the counts.
    pub(crate) fn stop(mut self) -> Tally {
        self.over.store(true, Ordering::Relaxed);
        for client in self.clients.drain(..) {
            client.join().expect("no client panicked");
        }
        self.tally()
    }
}

fn locked(tally: &Mutex<Tally>) -> std::sync::MutexGuard<'_, Tally> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ask(address: SocketAddr, tally: &Mutex<Tally>, over: &AtomicBool) {
    let mut connection = KeepAlive::to(address);
    for number in 0.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let wanted = WANTED[number % WANTED.len()];
        let own = number % OWN == 0;
        let request = if own {
            Request::get("/burstmetrics/services")
        } else {
            request(wanted)
        };
        let (sent, asked) = (now(), connection.ask(&request));
        let mut tally = locked(tally);
        tally.requests += 1;
        match asked {
            Ok((answer, again)) => {
                tally.again += u64::from(again);
                match own {
                    true if [200, 503].contains(&answer.status) => {}
                    true => tally.odd += tally.record_failure(|| format!("/burstmetrics: {answer:?}")),
                    false => tally.check(&answer, sent, wanted),
                }
            }
            Err(error) => tally.broken += tally.record_failure(|| format!("no answer: {error}")),
        }
        drop(tally);
        thread::sleep(PACE);
    }
}

fn request((status, length): (u16, usize)) -> Request {
    Request::get(format!("/echo/{status}/{length}")).through(NGSA_1_CLUSTER)
}
