//! `burst-lab run` with the real Envoy.

use std::collections::BTreeSet;
use std::process::Command;

use burst_lab::sample;
use burst_testkit::{Version, http, wait};

use crate::folder::{LocalFolder, Running, TIMEOUT};

fn run(folder: &LocalFolder) -> Running {
    folder.start("burst-lab", &mut folder.run())
}

#[test]
fn every_service_shows_its_header_and_the_numbers_move() {
    let folder = LocalFolder::new();
    let lab = run(&folder);
    let wanted = [
        ("ngsa-svc-1.default", "service=default/ngsa-1", "max-load=5"),
        ("ngsa-svc-2.ngsa", "service=ngsa/ngsa-2", "max-load=6"),
        ("queue.data", "service=data/queue", "max-load=9"),
        ("checkout.shop", "service=shop/checkout", "max-load=13"),
    ];
    for (name, service, max) in wanted {
        wait::until(TIMEOUT, &format!("two headers of {name}"), || {
            let log = lab.0.log();
            let lines = log.lines().filter_map(|line| line.split_once("  x-burst: "));
            let headers: BTreeSet<_> = lines
                .filter(|(agent, _)| agent.contains(name))
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
    let gone = http::try_send("GET", &format!("http://{}/", folder.addr("8080")), &[]);
    assert!(gone.is_err(), "Envoy still answers: {gone:?}");
}

#[test]
fn the_header_changes_by_streams() {
    let folder = LocalFolder::new();
    let _lab = run(&folder);
    let header = || folder.header("ngsa-svc-1.default.svc.cluster.local");
    header();
    folder.wait_for_changes_by_stream(|| {
        let before = header();
        wait::until(TIMEOUT, "another header", || header() != before);
    });
}

#[test]
fn an_unknown_host_gets_a_page_with_commands_to_try() {
    let folder = LocalFolder::new();
    let _lab = run(&folder);
    let services = sample::services(&sample::cluster().unwrap());
    folder.header(&services[0].host());
    let page = http::get(&format!("http://{}/", folder.addr("8080"))).body;
    for service in services {
        assert!(page.contains(&format!("-H 'host: {}'", service.host())), "{page}");
        folder.header(&service.host());
    }
}

#[test]
fn both_configurations_are_valid_for_every_supported_envoy() {
    let folder = LocalFolder::new();
    let configs = ["envoy-local/envoy.yaml", "envoy-local/context.yaml"];
    for (version, config) in Version::ALL
        .into_iter()
        .flat_map(|version| configs.map(|config| (version, config)))
    {
        let mut envoy = Command::new(version.part().path());
        envoy
            .current_dir(folder.path())
            .args(["--mode", "validate", "--disable-hot-restart", "-c"]);
        let output = envoy.arg(config).output().unwrap();
        assert!(
            output.status.success(),
            "{version:?} {config}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
