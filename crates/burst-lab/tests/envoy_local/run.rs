//! `burst-lab run` with the real Envoy.

use std::collections::BTreeSet;
use std::process::Command;

use burst_lab::sample;
use burst_testkit::{Part, Version, http, wait};

use crate::ground::{Ground, PATIENCE, Running};

fn run(ground: &Ground) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_burst-lab"));
    command
        .current_dir(ground.path())
        .arg("run")
        .arg("--envoy")
        .arg(Part::Envoy.path());
    for (option, port) in [("--proxy", "8080"), ("--api", "8001"), ("--services", "8002")] {
        command.arg(option).arg(ground.addr(port).to_string());
    }
    ground.start("burst-lab", &mut command)
}

#[test]
fn every_service_shows_its_header_and_the_numbers_move() {
    let ground = Ground::new();
    let lab = run(&ground);
    let wanted = [
        ("ngsa-svc-1.default", "service=default/ngsa-1", "max-load=5"),
        ("ngsa-svc-2.ngsa", "service=ngsa/ngsa-2", "max-load=6"),
        ("queue.data", "service=data/queue", "max-load=9"),
        ("checkout.shop", "service=shop/checkout", "max-load=13"),
    ];
    for (name, service, max) in wanted {
        wait::until(PATIENCE, &format!("two headers of {name}"), || {
            let log = lab.0.log();
            let lines = log.lines().filter_map(|line| line.split_once("  x-burst: "));
            let headers: BTreeSet<_> = lines
                .filter(|(who, _)| who.contains(name))
                .map(|(_, header)| header)
                .collect();
            headers.len() > 1
                && headers
                    .iter()
                    .all(|header| header.starts_with(service) && header.ends_with(max))
        });
    }
    assert!(!lab.0.log().contains('\u{1b}'));
    lab.terminate();
    let gone = http::try_send("GET", &format!("http://{}/", ground.addr("8080")), &[]);
    assert!(gone.is_err(), "Envoy still answers: {gone:?}");
}

#[test]
fn a_host_that_is_no_service_is_told_what_to_try() {
    let ground = Ground::new();
    let _lab = run(&ground);
    let services = sample::services(&sample::cluster().unwrap());
    ground.header(&services[0].host());
    let page = http::get(&format!("http://{}/", ground.addr("8080"))).body;
    for service in services {
        assert!(page.contains(&format!("-H 'host: {}'", service.host())), "{page}");
        ground.header(&service.host());
    }
}

#[test]
fn the_configuration_is_valid_for_every_supported_envoy() {
    let ground = Ground::new();
    for version in Version::ALL {
        let mut envoy = Command::new(version.part().path());
        envoy
            .current_dir(ground.path())
            .args(["--mode", "validate", "--disable-hot-restart", "-c"]);
        let output = envoy.arg("envoy-local/envoy.yaml").output().unwrap();
        assert!(
            output.status.success(),
            "{version:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
