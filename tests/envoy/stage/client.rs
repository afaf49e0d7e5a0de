//! A client of every worker at once: each worker has a VM of its own, so an answer is one only if all give it.

use std::net::SocketAddr;

use burst_testkit::{http::Answer, wait};

use super::{PATIENCE, Request, connection::Connection};

/// Headers that differ from answer to answer.
const PASSING: [&str; 3] = [
    "date",
    "x-envoy-upstream-service-time",
    burst_model::confirmation::HEADER,
];

/// A connection to each worker of a listener. The listener balances exactly, so the connections that are held at the
/// same time are all on different workers.
#[derive(Debug)]
pub(crate) struct Client {
    address: SocketAddr,
    connections: Vec<Option<Connection>>,
}

impl Client {
    pub(super) fn new(address: SocketAddr, workers: u32) -> Self {
        let connections = (0..workers).map(|_| Connection::open(address).ok()).collect();
        Self { address, connections }
    }

    /// What each worker answers.
    ///
    /// # Panics
    /// When one does not.
    #[track_caller]
    pub(crate) fn ask_each(&mut self, request: &Request) -> Vec<Answer> {
        let mut answers = Vec::new();
        for connection in &mut self.connections {
            let mut open = match connection.take() {
                Some(open) => open,
                None => Connection::open(self.address).expect("a connection"),
            };
            let answer = open.ask(request).unwrap_or_else(|error| panic!("{request:?}: {error}"));
            *connection = Some(open).filter(|_| answer.header("connection") != Some("close"));
            answers.push(answer);
        }
        answers
    }

    /// What all workers answer alike.
    ///
    /// # Panics
    /// When they do not.
    #[track_caller]
    pub(crate) fn ask(&mut self, request: &Request) -> Answer {
        let mut answers = self.ask_each(request);
        let answer = answers.pop().expect("an answer");
        for other in answers {
            assert_eq!(lasting(&other), lasting(&answer), "{request:?}: the workers differ");
        }
        answer
    }

    /// Waits until the answer of every worker fits.
    ///
    /// # Panics
    /// When they do not in time.
    #[track_caller]
    pub(crate) fn wait(&mut self, request: &Request, what: &str, fits: impl Fn(&Answer) -> bool) {
        wait::for_ok(PATIENCE, what, || {
            let answers = self.ask_each(request);
            if answers.iter().all(&fits) {
                Ok(())
            } else {
                Err(format!("{answers:?}"))
            }
        });
    }

    /// Waits until every worker puts that header on responses.
    ///
    /// # Panics
    /// When they do not in time.
    #[track_caller]
    pub(crate) fn wait_for_header(&mut self, request: &Request, value: Option<&str>) {
        self.wait(request, &format!("x-burst: {value:?}"), |answer| {
            answer.header("x-burst") == value
        });
    }
}

/// The parts of an answer that do not depend on the moment.
fn lasting(answer: &Answer) -> (u16, Vec<&(String, String)>, &str) {
    let headers = answer
        .headers
        .iter()
        .filter(|(name, _)| !PASSING.contains(&name.as_str()));
    (answer.status, headers.collect(), &answer.body)
}
