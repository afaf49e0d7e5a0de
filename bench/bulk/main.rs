//! What `/burstmetrics/services` costs with 10,000 Services, and what it costs the requests beside it: `make bench`
//! prints the table.
#![allow(missing_docs, reason = "a program")]

#[path = "../crowd.rs"]
mod crowd;
#[path = "../process.rs"]
mod process;
#[path = "../proxy.rs"]
mod proxy;
#[path = "../table.rs"]
mod table;

mod beside;

use std::time::Duration;

use burst_testkit::{
    Envoy,
    filter::Backend,
    http::{Connection, Request},
    wait,
};
use crowd::Crowd;
use process::spent;
use proxy::{Filter, Ports};
use table::Table;

const SERVICES: usize = 10_000;
const BULK: &str = "/burstmetrics/services";

/// Rounds of each row.
const ROUNDS: usize = 15;

/// Answers in a slice, where one alone is too little to be counted well.
const ANSWERS: u32 = 50;

/// For the filter to read everything, and to read a change.
const PATIENCE: Duration = Duration::from_secs(120);

/// A proxy with one worker, so that every request meets the same VM.
struct Bulk {
    envoy: Envoy,
    connection: Connection,
}

fn main() {
    eprintln!("making {SERVICES} Services");
    let crowd = Crowd::new(SERVICES);
    let world = Backend::of(crowd.cluster.clone());
    let upstream = proxy::upstream();
    let ports = Ports {
        api: world.kube_port(),
        upstream: proxy::address(&upstream).port(),
    };
    let mut bulk = Bulk::start(ports);
    let mut table = Table::new("bulk");
    table.counts("bytes of an answer", vec![bulk.ask(None).1]);
    let (mut first, mut again, mut unchanged) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        eprint!("\rround {round} of {ROUNDS} ");
        bulk.change(&crowd, u32::try_from(round).unwrap_or_default() + 10);
        first.push(bulk.cost(1, None));
        again.push(bulk.cost(ANSWERS, None));
        let tag = bulk.ask(None).0;
        unchanged.push(bulk.cost(ANSWERS, Some(&tag)));
    }
    eprintln!();
    println!("CPU of the proxy for one request:");
    table.times("the first answer after a change", first);
    table.times("an answer after that", again);
    table.times("304", unchanged);
    beside::run(&bulk, &mut table);
    table.keep(env!("CARGO_TARGET_TMPDIR"));
}

impl Bulk {
    fn start(ports: Ports) -> Self {
        let envoy = proxy::start(Filter::Ours, 1, ports);
        let mut connection = Connection::open(proxy::address(&envoy)).expect("a connection");
        wait::until(PATIENCE, "a picture", || {
            connection
                .ask(&Request::get(BULK))
                .is_ok_and(|answer| answer.status == 200)
        });
        Self { envoy, connection }
    }

    /// Changes the cluster, and waits until the proxy serves that.
    fn change(&mut self, crowd: &Crowd, replicas: u32) {
        crowd.scale(0, replicas);
        let load = format!("current-load={replicas},");
        wait::until(PATIENCE, &load, || {
            let answer = self.connection.ask(&Request::get("/")).expect("an answer");
            answer.header("x-burst").is_some_and(|value| value.contains(&load))
        });
    }

    /// The tag and the size of an answer, which is a 304 for the right tag.
    fn ask(&mut self, tag: Option<&str>) -> (String, u64) {
        let request = request(tag);
        let answer = self.connection.ask(&request).expect("an answer");
        assert_eq!(answer.status, if tag.is_some() { 304 } else { 200 });
        let tag = answer.header("etag").expect("a tag").to_owned();
        (tag, answer.body.len() as u64)
    }

    /// The mean of so many answers.
    fn cost(&mut self, answers: u32, tag: Option<&str>) -> Duration {
        let before = spent(self.envoy.id()).process;
        for _ in 0..answers {
            self.ask(tag);
        }
        (spent(self.envoy.id()).process - before) / answers
    }
}

fn request(tag: Option<&str>) -> Request {
    let request = Request::get(BULK);
    match tag {
        Some(tag) => request.header("if-none-match", tag),
        None => request,
    }
}
