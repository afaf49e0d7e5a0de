//! A client that never stops asking, so that no failed request between two looks goes unseen.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use burst_testkit::{
    http::{self, Answer},
    wait,
};

use crate::mesh::SOON;

/// Several requests at once, each after the answer to the one before.
const CLIENTS: usize = 3;

/// Between two requests of a client: the machine has other things to do.
const PACE: Duration = Duration::from_millis(5);

/// Enough that each client is asked for some on each worker.
const SOME: usize = 100;

/// Clients at work.
#[derive(Debug)]
pub(crate) struct Traffic {
    stopped: Arc<AtomicBool>,
    sent: Arc<AtomicUsize>,
    clients: Vec<JoinHandle<Vec<String>>>,
}

impl Traffic {
    /// Begins to GET `/` of a host, where every answer must be 200.
    pub(crate) fn begin(url: &str, host: &'static str) -> Self {
        Self::demanding(url, host, |answer| answer.status == 200)
    }

    /// The same where every answer must be like that.
    pub(crate) fn demanding(url: &str, host: &'static str, wanted: fn(&Answer) -> bool) -> Self {
        let (stopped, sent) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let client = |_| {
            let (stopped, sent, url) = (stopped.clone(), sent.clone(), format!("{url}/"));
            thread::spawn(move || ask(&url, host, wanted, &stopped, &sent))
        };
        let clients = (0..CLIENTS).map(client).collect();
        Self { stopped, sent, clients }
    }

    /// Lets some more of it pass, through what there is now.
    #[track_caller]
    pub(crate) fn goes_on(&self) {
        let before = self.sent.load(Ordering::Relaxed);
        wait::until(SOON, "more requests", || {
            self.sent.load(Ordering::Relaxed) >= before + SOME
        });
    }

    /// Ends it.
    ///
    /// # Panics
    /// When a request failed, or none was sent.
    #[track_caller]
    pub(crate) fn end_without_failure(self) {
        self.stopped.store(true, Ordering::Relaxed);
        let failures: Vec<_> = self
            .clients
            .into_iter()
            .flat_map(|client| client.join().expect("a client"))
            .collect();
        let sent = self.sent.load(Ordering::Relaxed);
        assert!(
            failures.is_empty(),
            "{} of {sent} failed: {:?}",
            failures.len(),
            &failures[..failures.len().min(5)]
        );
        assert!(sent >= SOME, "only {sent} were sent");
    }
}

fn ask(url: &str, host: &str, wanted: fn(&Answer) -> bool, stopped: &AtomicBool, sent: &AtomicUsize) -> Vec<String> {
    let mut failures = Vec::new();
    while !stopped.load(Ordering::Relaxed) {
        match http::try_send("GET", url, &[("host", host)]) {
            Ok(answer) if wanted(&answer) => {}
            Ok(answer) => failures.push(format!("{answer:?}")),
            Err(error) => failures.push(error.to_string()),
        }
        sent.fetch_add(1, Ordering::Relaxed);
        thread::sleep(PACE);
    }
    failures
}
