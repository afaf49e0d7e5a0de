//! JSON or protobuf for what a real API server answers: bytes, its CPU, our time to read it, the size of the reader.
//! `make bench` prints the table.
//!
//! Both readers have to make the same objects of the same answers, or there is no table.
#![allow(missing_docs, reason = "a program")]

#[path = "../crowd.rs"]
mod crowd;
#[path = "../process.rs"]
mod process;
#[path = "../api_server/server.rs"]
mod server;
#[path = "../table.rs"]
mod table;

mod answers;
mod form;
mod modules;
mod parse;

use burst_lab::cluster::DEPLOYMENTS;
use serde_json::json;

use answers::Answers;
use crowd::Crowd;
use form::Form;
use server::{Kind, Server};
use table::Table;

/// Objects of each kind: more than a page.
const OBJECTS: usize = 600;

/// StatefulSets: they are messages like Deployments, so there is nothing to measure, only to compare.
const FEW: usize = 20;

/// Slices of each row of the API server's.
const ROUNDS: usize = 21;

/// Pages in a slice.
const PAGES: u32 = 4;

/// In the order of `burst_bench_readers::sources`.
const KINDS: [(&str, Kind); 4] = [
    ("HPAs", Kind::HPAS),
    ("Services", Kind::SERVICES),
    ("Deployments", Kind::DEPLOYMENTS),
    ("StatefulSets", Kind::STATEFULSETS),
];

/// Those that are measured.
const MEASURED: usize = 3;

fn main() {
    eprintln!("starting a control plane with {OBJECTS} Services, HPAs and Deployments");
    let server = Server::start();
    let crowd = Crowd::new(OBJECTS);
    add_statefulsets(&crowd);
    for (_, kind) in KINDS {
        server.create(kind, &crowd.cluster);
    }
    let mut answers = answers::fetch(&server);
    for answers in &answers {
        answers.assert_same();
    }
    answers.retain(|answers| answers.source < MEASURED);
    let mut table = Table::new("encoding");
    bytes(&answers, &mut table);
    api_server(&server, &mut table);
    parse::rows(&answers, &mut table);
    modules::rows(&mut table);
    table.keep(env!("CARGO_TARGET_TMPDIR"));
}

fn add_statefulsets(crowd: &Crowd) {
    for number in 0..FEW {
        let deployment = crowd.cluster.object(DEPLOYMENTS, &crowd::key(number));
        let mut object = (*deployment.expect("a Deployment")).clone();
        object["kind"] = json!("StatefulSet");
        object["spec"] = json!({
            "serviceName": object["metadata"]["name"],
            "selector": object["spec"]["selector"],
            "template": object["spec"]["template"],
        });
        crowd.cluster.apply(object).expect("a registered kind");
    }
}

fn bytes(answers: &[Answers], table: &mut Table) {
    println!("bytes on the wire:");
    for answers in answers {
        for (form, bytes) in &answers.bytes {
            table.counts(format!("{}, {}", answers.what, form.name()), vec![*bytes as u64]);
        }
    }
}

/// Every form of each list takes its turn in each round.
fn api_server(server: &Server, table: &mut Table) {
    eprintln!("CPU of the API server");
    let sources = &burst_bench_readers::sources()[..MEASURED];
    let rows = sources.iter().zip(KINDS);
    let rows: Vec<_> = rows
        .flat_map(|(source, (what, _))| Form::ALL.map(|form| (source.list_path(answers::PAGE, None), what, form)))
        .collect();
    let mut slices = vec![Vec::with_capacity(ROUNDS); rows.len()];
    for _ in 0..ROUNDS {
        for ((path, _, form), slices) in rows.iter().zip(&mut slices) {
            let spent = server.spends(|| {
                for _ in 0..PAGES {
                    form.fetch(server, path);
                }
            });
            slices.push(spent / PAGES);
        }
    }
    println!("CPU of the API server for a page of {}:", answers::PAGE);
    for ((_, what, form), slices) in rows.iter().zip(slices) {
        table.times(format!("{what}: a page, {}", form.name()), slices);
    }
}
