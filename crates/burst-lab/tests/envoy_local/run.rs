//! `burst-lab run` with the real Envoy.

use std::collections::BTreeSet;
use std::process::Command;

use burst_lab::sample;
use burst_testkit::{Version, http, wait};

use crate::ground::{Ground, PATIENCE, Running};

fn run(ground: &Ground) -> Running {
    ground.start("burst-lab", &mut ground.run())
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
fn both_configurations_are_valid_for_every_supported_envoy() {
    let ground = Ground::new();
    let configs = ["envoy-local/envoy.yaml", "envoy-local/context.yaml"];
    for (version, config) in Version::ALL
        .into_iter()
        .flat_map(|version| configs.map(|config| (version, config)))
    {
        let mut envoy = Command::new(version.part().path());
        envoy
            .current_dir(ground.path())
            .args(["--mode", "validate", "--disable-hot-restart", "-c"]);
        let output = envoy.arg(config).output().unwrap();
        assert!(
            output.status.success(),
            "{version:?} {config}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
