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

/// `ignores x-burst: 42 requests, 7 of them 503`
#[derive(Clone, Copy, Debug)]
struct ClientLine {
    requests: u64,
    refused: u64,
}

/// The lines of a client that both clients have written.
fn client_lines(log: &str, client: &str) -> Vec<ClientLine> {
    let complete = log.rmatch_indices("reads x-burst: ").next().map_or("", |(at, _)| {
        let end = log[at..].find('\n').map_or(at, |length| at + length);
        &log[..end]
    });
    let parsed = |line: &str| {
        let (_, numbers) = line.split_once(&format!("{client}: "))?;
        let (requests, refused) = numbers.strip_suffix(" of them 503")?.split_once(" requests, ")?;
        Some(ClientLine {
            requests: requests.parse().ok()?,
            refused: refused.parse().ok()?,
        })
    };
    complete.lines().filter_map(parsed).collect()
}

#[test]
fn the_client_that_reads_the_header_goes_elsewhere_before_the_service_refuses_requests() {
    let folder = LocalFolder::new();
    let lab = run(&folder);
    // Both clients write a line every ten seconds. The load passes the capacity about twenty seconds after the first answer, and
    // again in the next period.
    let (log, ignores, reads) = wait::for_ok(2 * TIMEOUT, "503s for the client that ignores the header", || {
        let log = lab.0.log();
        let (ignores, reads) = (
            client_lines(&log, "ignores x-burst"),
            client_lines(&log, "reads x-burst"),
        );
        match (ignores.last(), reads.last()) {
            (Some(&ignores), Some(&reads)) if ignores.refused > 10 => Ok((log, ignores, reads)),
            _ => Err(log),
        }
    });
    // On a slow machine the requests of some time arrive at once, and a few are refused anywhere.
    assert!(reads.refused * 2 < ignores.refused, "{reads:?} {ignores:?}: {log}");
    assert!(
        reads.requests * 2 > ignores.requests,
        "it sends about as much: {reads:?} {ignores:?}"
    );
    let changes = |service: &str| {
        log.lines()
            .filter(|line| line.contains(&format!("{service}  ")))
            .count()
    };
    assert!(
        changes("ngsa-svc-2.ngsa") > 2,
        "the other service gets more replicas: {log}"
    );
}

#[test]
fn a_warning_of_the_filter_ends_when_the_cluster_can_be_read_again() {
    let folder = LocalFolder::new();
    let lab = run(&folder);
    folder.header("ngsa-svc-1.default.svc.cluster.local");
    let control = |method: &str, path: &str, body: &str| {
        let url = format!("http://{}/lab/{path}", folder.addr("8001"));
        let answer = http::ask(&http::Request::of(method, url).body(body.to_owned())).unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
    };
    let resource = "horizontalpodautoscalers.autoscaling";
    control(
        "PUT",
        "fault",
        &format!(r#"{{"resource":"{resource}","fault":"forbidden"}}"#),
    );
    control(
        "PUT",
        "watches/fault",
        &format!(r#"{{"resource":"{resource}","fault":{{"end":{{}}}}}}"#),
    );
    let log_has = |text: String| {
        wait::for_ok(TIMEOUT, &text, || {
            let log = lab.0.log();
            if log.lines().any(|line| line.starts_with(&text)) {
                Ok(())
            } else {
                Err(log)
            }
        });
    };
    log_has("warning: cannot ".to_owned());
    control("DELETE", "fault", "");
    wait::for_ok(TIMEOUT, "the recovery", || {
        let log = lab.0.log();
        let is_recovery = |line: &str| line.ends_with(&format!("ing {resource} works again"));
        if log.lines().any(is_recovery) { Ok(()) } else { Err(log) }
    });
}

#[test]
fn a_recording_shows_the_table_of_the_real_envoy() {
    let folder = LocalFolder::new();
    let path = folder.path().join("demo.svg");
    let mut command = folder.run();
    command.arg("--record").arg(&path).args(["--seconds", "3"]);
    let lab = folder.start("burst-lab", &mut command);
    let svg = wait::for_ok(TIMEOUT, "the recording", || {
        std::fs::read_to_string(&path)
            .ok()
            .filter(|svg| svg.ends_with("</svg>\n"))
            .ok_or_else(|| lab.0.log())
    });
    let document = roxmltree::Document::parse(&svg).unwrap();
    let texts: Vec<_> = document.descendants().filter_map(|node| node.text()).collect();
    for text in ["ignores x-burst", "reads x-burst", "ngsa-svc-1.default"] {
        assert!(texts.contains(&text), "{text}: {texts:?}");
    }
    assert!(
        texts
            .iter()
            .any(|text| text.starts_with("x-burst: service=default/ngsa-1, current-load=")),
        "{texts:?}"
    );
}

#[test]
fn the_header_changes_by_streams() {
    let folder = LocalFolder::new();
    let _lab = run(&folder);
    folder.header("queue.data.svc.cluster.local");
    // Not by requests to the service: they would keep it at its maximum.
    let url = format!("http://{}/burstmetrics/services/data/queue", folder.addr("8080"));
    let header = || http::get(&url).body;
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
