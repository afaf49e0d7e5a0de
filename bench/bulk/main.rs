//! The CPU time of `/burstmetrics/services` with 10,000 Services, and its effect on other requests: `make bench` prints
//! the table.
#![allow(missing_docs, reason = "a program")]

mod background_load;

use std::time::Duration;

use burst_bench_kit::{
    Backends, FixtureCluster, Table,
    process::cpu_time,
    proxy::{self, FilterUnderTest, PATIENCE, Ports},
};
use burst_testkit::{
    Envoy,
    http::{Connection, Request},
    wait,
};

const SERVICES: usize = 10_000;
const BULK: &str = "/burstmetrics/services";

/// Rounds of each row.
const ROUNDS: usize = 15;

/// Answers in a slice: the CPU time of a single one is too short to count.
const ANSWERS: u32 = 50;

/// A proxy with one worker, so that the same VM serves every request.
struct BulkClient {
    envoy: Envoy,
    connection: Connection,
}

fn main() {
    let backends = Backends::start(SERVICES);
    let mut bulk = BulkClient::start(backends.ports());
    let mut table = Table::new("bulk");
    table.counts("bytes of an answer", vec![bulk.ask(None).1]);
    let (mut first, mut later, mut unchanged) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        eprint!("\rround {round} of {ROUNDS} ");
        bulk.change(&backends.cluster, u32::try_from(round).unwrap_or_default() + 10);
        first.push(bulk.cost(1, None));
        later.push(bulk.cost(ANSWERS, None));
        let tag = bulk.ask(None).0;
        unchanged.push(bulk.cost(ANSWERS, Some(&tag)));
    }
    eprintln!();
    println!("CPU of the proxy for one request:");
    table.durations("the first answer after a change", first);
    table.durations("an answer after that", later);
    table.durations("304", unchanged);
    background_load::run(&bulk, &mut table);
    table.save(env!("CARGO_TARGET_TMPDIR"));
}

impl BulkClient {
    fn start(ports: Ports) -> Self {
        let envoy = proxy::start(FilterUnderTest::BurstMetrics, 1, ports);
        let mut connection = Connection::open(proxy::address(&envoy)).expect("a connection");
        wait::until(PATIENCE, "a snapshot", || {
            connection
                .ask(&Request::get(BULK))
                .is_ok_and(|answer| answer.status == 200)
        });
        Self { envoy, connection }
    }

    /// Changes the cluster, and waits until the proxy serves the change.
    fn change(&mut self, cluster: &FixtureCluster, replicas: u32) {
        cluster.set_current_replicas(0, replicas);
        let load = format!("current-load={replicas},");
        wait::until(PATIENCE, &load, || {
            let answer = self.connection.ask(&Request::get("/")).expect("an answer");
            answer.header("x-burst").is_some_and(|value| value.contains(&load))
        });
    }

    /// Returns the entity tag and the size of an answer, which is a 304 if `tag` is current.
    fn ask(&mut self, tag: Option<&str>) -> (String, u64) {
        let request = request(tag);
        let answer = self.connection.ask(&request).expect("an answer");
        assert_eq!(answer.status, if tag.is_some() { 304 } else { 200 });
        let tag = answer.header("etag").expect("an entity tag").to_owned();
        (tag, answer.body.len() as u64)
    }

    /// Returns the mean CPU time of so many answers.
    fn cost(&mut self, answers: u32, tag: Option<&str>) -> Duration {
        let before = cpu_time(self.envoy.id()).process;
        for _ in 0..answers {
            self.ask(tag);
        }
        (cpu_time(self.envoy.id()).process - before) / answers
    }
}

fn request(tag: Option<&str>) -> Request {
    let request = Request::get(BULK);
    match tag {
        Some(tag) => request.header("if-none-match", tag),
        None => request,
    }
}
