//! The compose file. The tests have no Docker: they validate the file against its schema, and run its commands with other
//! ports.

use std::fs;
use std::process::Command;

use burst_testkit::{Part, http, repository, wait};
use serde_json::{Value, json};

use crate::folder::{BURST_LAB, LocalFolder, Running, TIMEOUT};

const SCHEMA: &str = include_str!("fixtures/compose-spec.json");

/// How the file starts burst-lab.
const CARGO_RUN: [&str; 5] = ["run", "--locked", "--package", "burst-lab", "--"];

fn compose() -> Value {
    let text = fs::read_to_string(repository().join("envoy-local/compose.yaml")).unwrap();
    serde_saphyr::from_str(&text).unwrap()
}

/// The command of a service: its program, and its arguments with free ports.
fn command(folder: &LocalFolder, service: &str) -> (String, Vec<String>) {
    let command = &compose()["services"][service]["command"];
    let words = command
        .as_array()
        .unwrap()
        .iter()
        .map(|word| folder.with_free_ports(word.as_str().unwrap()));
    let mut words = words.collect::<Vec<_>>().into_iter();
    (words.next().unwrap(), words.collect())
}

fn envoy(folder: &LocalFolder) -> Running {
    let (program, arguments) = command(folder, "envoy");
    assert_eq!(program, "envoy");
    folder.start(
        "envoy",
        Command::new(Part::Envoy.path())
            .args(arguments)
            .current_dir(folder.path()),
    )
}

/// Runs the `burst-lab` of these tests with the arguments that the file has after `--`. A build here would replace the file that
/// another test program runs at the same time.
fn lab(folder: &LocalFolder) -> Running {
    let (program, arguments) = command(folder, "lab");
    let (build, arguments) = arguments.split_at(CARGO_RUN.len());
    assert_eq!((program.as_str(), build), ("cargo", &CARGO_RUN.map(str::to_owned)[..]));
    folder.start("lab", Command::new(BURST_LAB).args(arguments).current_dir(repository()))
}

#[test]
fn the_file_follows_the_compose_schema() {
    let schema = jsonschema::validator_for(&serde_json::from_str(SCHEMA).unwrap()).unwrap();
    let errors: Vec<_> = schema.iter_errors(&compose()).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let mut wrong = compose();
    wrong["services"]["lab"]["comand"] = json!([]);
    assert!(!schema.is_valid(&wrong));
}

#[test]
fn the_image_has_the_envoy_of_the_tests() {
    let image = &compose()["services"]["envoy"]["image"];
    assert_eq!(*image, format!("envoyproxy/envoy:v{}", Part::Envoy.version()));
}

#[test]
fn the_commands_serve_the_sample_cluster() {
    let folder = LocalFolder::new();
    // Envoy first, as in compose: the other shares its network.
    let (_envoy, _lab) = (envoy(&folder), lab(&folder));
    let header = folder.header("ngsa-svc-1.default.svc.cluster.local");
    assert!(
        header.starts_with("service=default/ngsa-1, current-load=") && header.ends_with("max-load=5"),
        "{header}"
    );
    // Another worker may take the snapshot a moment later.
    let url = format!("http://{}/burstmetrics/services/", folder.addr("8080"));
    let all = wait::for_ok(TIMEOUT, "the bulk answer", || match http::get(&url) {
        answer if answer.status == 200 => Ok(answer.body),
        answer => Err(format!("{answer:?}")),
    });
    let all: Value = serde_json::from_str(&all).unwrap();
    let keys: Vec<_> = all.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        ["data/queue", "default/ngsa-svc-1", "ngsa/ngsa-svc-2", "shop/checkout"]
    );
}
