//! Reads answers that were kept in files, again and again, and prints the CPU time that each took. `bench/encoding/node.mjs` does
//! the same with a module.
#![allow(missing_docs, reason = "a program")]

use std::{env, fs, hint::black_box, time::Duration};

use burst_bench_readers::{count, json, protobuf, sources};
use burst_model::kube::Verb;
use bytes::Bytes;
use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;

#[derive(Deserialize)]
struct Work {
    warm_ups: usize,
    rounds: usize,
    answers: Vec<Kept>,
}

#[derive(Deserialize)]
struct Kept {
    file: String,
    source: usize,
    watch: bool,
    protobuf: bool,
    objects: usize,
}

fn main() {
    let path = env::args().nth(1).expect("a file that says what there is to do");
    let work: Work = serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON");
    let bodies: Vec<Bytes> = work.answers.iter().map(|answer| body(&answer.file)).collect();
    let mut times = vec![Vec::with_capacity(work.rounds); bodies.len()];
    for round in 0..work.warm_ups + work.rounds {
        for ((answer, body), times) in work.answers.iter().zip(&bodies).zip(&mut times) {
            let nanoseconds = time(answer, body);
            if round >= work.warm_ups {
                times.push(nanoseconds);
            }
        }
    }
    println!("{}", serde_json::to_string(&times).expect("numbers"));
}

fn body(file: &str) -> Bytes {
    fs::read(file).unwrap_or_else(|error| panic!("{file}: {error}")).into()
}

/// Until all that was read is gone again.
fn time(answer: &Kept, body: &Bytes) -> u128 {
    let source = &sources()[answer.source];
    let verb = if answer.watch { Verb::Watch } else { Verb::List };
    let started = spent();
    let read = match answer.protobuf {
        true => protobuf::read(source, verb, black_box(body)),
        false => json(source, verb, black_box(body)),
    };
    let objects = count(&read.expect("a good answer"));
    let nanoseconds = (spent() - started).as_nanos();
    assert_eq!(objects, answer.objects, "{}", answer.file);
    nanoseconds
}

/// On a CPU, so far.
fn spent() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("a time since the start")
}
