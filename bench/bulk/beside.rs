//! Requests to a Service, while somebody asks for all of them every second.

use std::{
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use crate::{Bulk, ROUNDS, process::spent, proxy, request, table::Table};
use burst_testkit::http::{Connection, Request};

/// How long a slice is: some polls.
const SLICE: Duration = Duration::from_secs(3);

/// Between two requests: a thousand a second.
const PACE: Duration = Duration::from_millis(1);

/// Who polls meanwhile.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Poll {
    Nobody,
    /// With the tag of the answer before: nothing changes.
    Tagged,
    Whole,
}

pub(crate) fn run(bulk: &Bulk, table: &mut Table) {
    println!("CPU of the proxy for one request to a Service, at 1,000 a second:");
    let kinds = [Poll::Nobody, Poll::Tagged, Poll::Whole];
    let mut found = kinds.map(|_| Vec::new());
    for round in 1..=ROUNDS {
        eprint!("\rround {round} of {ROUNDS} ");
        for (poll, found) in kinds.into_iter().zip(&mut found) {
            found.push(slice(bulk, poll));
        }
    }
    eprintln!();
    let [alone, tagged, whole] = found;
    // Within a round the machine is the same, as far as it ever is.
    for (what, polled) in [("304", &tagged), ("the whole", &whole)] {
        let ratios = polled
            .iter()
            .zip(&alone)
            .map(|(polled, alone)| polled.as_secs_f64() / alone.as_secs_f64());
        table.ratio(format!("answered by {what} ÷ nobody polls"), median(ratios.collect()));
    }
    table.times("nobody polls", alone);
    table.times("a poll a second, answered by 304", tagged);
    table.times("a poll a second, answered in whole", whole);
}

fn median(mut ratios: Vec<f64>) -> f64 {
    ratios.sort_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}

/// The mean of the requests of a slice; what the polls cost is in it.
fn slice(bulk: &Bulk, poll: Poll) -> Duration {
    let address = proxy::address(&bulk.envoy);
    let open = || Connection::open(address).expect("a connection");
    let (mut connection, mut poller) = (open(), open());
    let tag = poller.ask(&request(None)).expect("an answer");
    let tag = Some(tag.header("etag").expect("a tag").to_owned()).filter(|_| poll == Poll::Tagged);
    thread::scope(|scope| {
        let (running, stopped) = mpsc::channel::<()>();
        if poll != Poll::Nobody {
            scope.spawn(move || {
                let asked = request(tag.as_deref());
                while stopped.recv_timeout(Duration::from_secs(1)) == Err(mpsc::RecvTimeoutError::Timeout) {
                    poller.ask(&asked).expect("an answer");
                }
            });
        }
        let (before, begun) = (spent(bulk.envoy.id()).process, Instant::now());
        let mut requests = 0;
        while begun.elapsed() < SLICE {
            connection.ask(&Request::get("/")).expect("an answer");
            requests += 1;
            thread::sleep((PACE * requests).saturating_sub(begun.elapsed()));
        }
        let cost = (spent(bulk.envoy.id()).process - before) / requests;
        drop(running);
        cost
    })
}
