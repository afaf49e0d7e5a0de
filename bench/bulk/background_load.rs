//! Requests to a Service while another client polls the bulk endpoint.

use std::{
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use burst_bench_kit::{Table, process::cpu_time, proxy};

use burst_testkit::http::{Connection, Request};

use crate::{BulkClient, ROUNDS, request};

/// The length of a slice: several polls.
const SLICE: Duration = Duration::from_secs(3);

const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Time between two requests: 1,000 a second.
const REQUEST_INTERVAL: Duration = Duration::from_millis(1);

/// How the other client polls.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PollMode {
    Never,
    /// With the entity tag of the answer before, so the answer is 304.
    Conditional,
    Full,
}

pub(crate) fn run(bulk: &BulkClient, table: &mut Table) {
    println!("CPU of the proxy for one request to a Service, at 1,000 a second:");
    let polls = [PollMode::Never, PollMode::Conditional, PollMode::Full];
    let mut measured = polls.map(|_| Vec::new());
    for round in 1..=ROUNDS {
        eprint!("\rround {round} of {ROUNDS} ");
        for (poll, measured) in polls.into_iter().zip(&mut measured) {
            measured.push(slice(bulk, poll));
        }
    }
    eprintln!();
    let [never, conditional, full] = measured;
    // Ratios within a round: the machine changes less within a round than between rounds.
    for (label, polled) in [("a 304", &conditional), ("the full answer", &full)] {
        let ratios = polled
            .iter()
            .zip(&never)
            .map(|(polled, never)| polled.as_secs_f64() / never.as_secs_f64());
        table.ratio(
            format!("a poll a second for {label} ÷ no polls"),
            median(ratios.collect()),
        );
    }
    table.durations("no polls", never);
    table.durations("a poll a second, answered by 304", conditional);
    table.durations("a poll a second, answered in full", full);
}

fn median(mut ratios: Vec<f64>) -> f64 {
    ratios.sort_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}

/// Returns the mean CPU time of the requests in a slice, with that of the polls.
fn slice(bulk: &BulkClient, poll: PollMode) -> Duration {
    let address = proxy::address(&bulk.envoy);
    let open = || Connection::open(address).expect("a connection");
    let (mut connection, mut poller) = (open(), open());
    let first = poller.ask(&request(None)).expect("an answer");
    let tag = first.header("etag").expect("an entity tag");
    let polled = request(Some(tag).filter(|_| poll == PollMode::Conditional));
    thread::scope(|scope| {
        // Dropping the sender stops the poller.
        let (running, stopped) = mpsc::channel::<()>();
        if poll != PollMode::Never {
            scope.spawn(move || {
                while stopped.recv_timeout(POLL_INTERVAL) == Err(mpsc::RecvTimeoutError::Timeout) {
                    poller.ask(&polled).expect("an answer");
                }
            });
        }
        let (before, started) = (cpu_time(bulk.envoy.id()).process, Instant::now());
        let mut requests = 0;
        while started.elapsed() < SLICE {
            connection.ask(&Request::get("/")).expect("an answer");
            requests += 1;
            thread::sleep((REQUEST_INTERVAL * requests).saturating_sub(started.elapsed()));
        }
        let cost = (cpu_time(bulk.envoy.id()).process - before) / requests;
        drop(running);
        cost
    })
}
