//! A client of all workers at the same time: each worker has its own VM, so an answer only counts if all give it.

use std::net::SocketAddr;
use std::time::{Duration, UNIX_EPOCH};

use crate::{
    http::{Answer, KeepAlive, Request},
    wait,
};

use super::PATIENCE;

/// Headers that differ from answer to answer.
const PASSING: [&str; 3] = [
    "date",
    "x-envoy-upstream-service-time",
    burst_model::confirmation::CONFIRMED_HEADER,
];

/// A connection to each worker of a listener. The listener balances exactly, so the connections that are held at the
/// same time are all on different workers.
#[derive(Debug)]
pub struct Client(Vec<KeepAlive>);

impl Client {
    pub(super) fn new(address: SocketAddr, workers: u32) -> Self {
        Self((0..workers).map(|_| KeepAlive::to(address)).collect())
    }

    /// The answer of each worker.
    ///
    /// # Panics
    /// When one does not.
    #[track_caller]
    pub fn ask_each(&mut self, request: &Request) -> Vec<Answer> {
        let ask = |kept: &mut KeepAlive| match kept.ask(request) {
            Ok((answer, _)) => answer,
            Err(error) => panic!("{request:?}: {error}"),
        };
        self.0.iter_mut().map(ask).collect()
    }

    /// The answer that all workers give.
    ///
    /// # Panics
    /// When they do not.
    #[track_caller]
    pub fn ask(&mut self, request: &Request) -> Answer {
        let mut answers = self.ask_each(request);
        let answer = answers.pop().expect("an answer");
        for other in answers {
            assert_eq!(lasting(&other), lasting(&answer), "{request:?}: the workers differ");
        }
        answer
    }

    /// Waits until the answers of all workers match.
    ///
    /// # Panics
    /// When they do not in time.
    #[track_caller]
    pub fn wait(&mut self, request: &Request, what: &str, fits: impl Fn(&Answer) -> bool) {
        self.wait_at_most(PATIENCE, request, what, fits);
    }

    /// Waits until the answers of all workers match, with another deadline.
    ///
    /// # Panics
    /// When they do not in time.
    #[track_caller]
    pub fn wait_at_most(&mut self, deadline: Duration, request: &Request, what: &str, fits: impl Fn(&Answer) -> bool) {
        wait::for_ok(deadline, what, || {
            let answers = self.ask_each(request);
            if answers.iter().all(&fits) {
                Ok(())
            } else {
                Err(format!("{answers:?}"))
            }
        });
    }

    /// Waits until the response of one worker is without the header; the Unix time then, in seconds.
    ///
    /// # Panics
    /// When it is not in time.
    #[track_caller]
    pub fn first_without_header(&mut self, request: &Request) -> u64 {
        wait::until(PATIENCE, "a response without the header", || {
            let answers = self.ask_each(request);
            answers.iter().any(|answer| answer.header("x-burst").is_none())
        });
        UNIX_EPOCH.elapsed().expect("a time after 1970").as_secs()
    }

    /// Waits until every worker puts that header on responses.
    ///
    /// # Panics
    /// When they do not in time.
    #[track_caller]
    pub fn wait_for_header(&mut self, request: &Request, value: Option<&str>) {
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
