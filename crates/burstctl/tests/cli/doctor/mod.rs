//! `doctor` with a real API server, and with a real Envoy that runs the filter.

mod gateway;
mod kubelet;

use std::path::Path;
use std::time::Duration;
use std::{env, fs};

use burst_testkit::{Envoy, Version, port, wait};

use crate::support::service_account::Kubeconfig;
use gateway::{CommandOutput, Gateway, doctor, doctor_without_cluster};

/// The filter polls every second, but the machine may be busy with other builds.
const SOON: Duration = Duration::from_secs(120);

/// Waits until the lines about a check contain `expected`.
#[track_caller]
fn wait_for(run_doctor: impl Fn() -> CommandOutput, about: &str, expected: &str) -> CommandOutput {
    wait::for_ok(SOON, &format!("{about}: {expected}"), || {
        let output = run_doctor();
        if output.find(about).is_some_and(|lines| lines.contains(expected)) {
            Ok(output)
        } else {
            Err(output.text)
        }
    })
}

/// Waits until `doctor` shows the result of the first poll.
#[track_caller]
fn wait_until_healthy(run_doctor: impl Fn() -> CommandOutput) -> CommandOutput {
    wait::for_ok(SOON, "all is well", || {
        let output = run_doctor();
        if output.code == Some(0) && output.text.contains("with replicas: 1") {
            Ok(output)
        } else {
            Err(output.text)
        }
    })
}

/// Replaces the numbers that differ from run to run.
fn mask_changing_numbers(text: &str) -> String {
    let mut text = text.to_owned();
    for (before, after) in [
        ("Kubernetes v1.", "\n"),
        ("  Envoy 1.", "\n"),
        ("loaded; ", " Wasm VMs"),
        ("was read ", " s ago"),
    ] {
        let number = |text: &str| {
            let from = text.find(before)? + before.len();
            Some(from..from + text[from..].find(after)?)
        };
        if let Some(range) = number(&text) {
            text.replace_range(range, "N");
        }
    }
    text
}

#[test]
fn each_missing_part_is_found_by_its_check() {
    let cluster = Gateway::bare();
    let nothing = doctor(&cluster.kubeconfig(), &[]);
    assert_eq!(nothing.code, Some(1), "{nothing:?}");
    insta::assert_snapshot!("doctor_without_a_gateway", mask_changing_numbers(&nothing.text));

    let gateway = Gateway::installed(cluster, Version::Tested);
    let healthy = wait_until_healthy(|| gateway.doctor(&[]));
    insta::assert_snapshot!("doctor_well", mask_changing_numbers(&healthy.text));
    let json = gateway.doctor(&["--output", "json"]).text;
    assert_eq!(json.lines().count(), healthy.text.lines().count() - 1, "{json}");
    let first = "{\"check\":\"api-server\",\"of\":\"\",\"verdict\":\"ok\",\"found\":\"Kubernetes v";
    assert!(json.starts_with(first), "{json}");

    let cluster = &gateway.cluster;
    let with = |patch: &str| {
        let patch = ["--namespace=istio-system", "--type=merge", "--patch", patch];
        cluster.kubectl(&[&["patch", "wasmplugin", "burst-metrics"], &patch[..]].concat());
        gateway.doctor(&[])
    };
    insta::assert_snapshot!(
        "doctor_policy",
        with(r#"{"spec":{"failStrategy":"FAIL_OPEN"}}"#).check("policy")
    );
    let bad = r#"{"spec":{"failStrategy":"FAIL_RELOAD","pluginConfig":{"target_percent":400}}}"#;
    insta::assert_snapshot!("doctor_configuration", with(bad).check("configuration"));
    let elsewhere = r#"{"spec":{"pluginConfig":{"target_percent":80,"cluster":"elsewhere"}}}"#;
    insta::assert_snapshot!("doctor_kube_api", with(elsewhere).check("kube-api"));
    let egress = r#"{"spec":{"selector":{"matchLabels":{"istio":"egressgateway"}}}}"#;
    insta::assert_snapshot!("doctor_plugin", with(egress).check("plugin"));
    let rollouts = r#"[{"group":"argoproj.io","version":"v1alpha1","resource":"rollouts","kind":"Rollout"}]"#;
    let misconfigured = with(&format!(
        r#"{{"spec":{{"selector":{{"matchLabels":{{"istio":"ingressgateway"}}}},
        "pluginConfig":{{"cluster":"burst_kube_api","max_staleness":"15s","workloads":{rollouts}}}}}}}"#
    ));
    assert_eq!(misconfigured.code, Some(1), "{misconfigured:?}");
    assert_eq!(
        mask_changing_numbers(&readme_example("burstctl doctor")),
        mask_changing_numbers(&misconfigured.text)
    );

    cluster.kubectl(&["delete", "clusterrolebinding", "burst-metrics"]);
    let forbidden = wait_for(|| gateway.doctor(&[]), "poll", "15 s are allowed");
    assert_eq!(forbidden.code, Some(1), "{forbidden:?}");
    assert!(forbidden.check("poll").contains(" forbidden;"), "{forbidden:?}");
    assert!(
        forbidden
            .check("poll")
            .ends_with("the role does not allow a list; see the rbac check, and the proxy's log for its name")
    );
    check_that_missing_rights_are_reported(&gateway);
}

/// Returns the output that the README shows for a command.
fn readme_example(command: &str) -> String {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let (_, block) = readme.split_once(&format!("```console\n$ {command}\n")).unwrap();
    block.split_once("```").unwrap().0.to_owned()
}

fn check_that_missing_rights_are_reported(gateway: &Gateway) {
    let cluster = &gateway.cluster;
    cluster.kubectl(&["create", "serviceaccount", "reader"]);
    let kubeconfig = Kubeconfig::of(cluster, "reader");
    let run_doctor = || doctor(&kubeconfig.path(), &[]);
    let output = run_doctor();
    assert_eq!(output.code, Some(2), "{output:?}");
    insta::assert_snapshot!("doctor_pods_without_rights", output.check("pods"));
    let give = |resource: &str| {
        let name = resource.replace(['.', ','], "-");
        let role = ["create", "clusterrole", &name, "--verb=list", "--resource", resource];
        cluster.kubectl(&role);
        let role = format!("--clusterrole={name}");
        cluster.kubectl(&[
            "create",
            "clusterrolebinding",
            &name,
            &role,
            "--serviceaccount=default:reader",
        ]);
    };
    give("pods");
    // The API server needs a moment to apply a new role.
    let output = wait_for(run_doctor, "pods", "1 in istio-system");
    insta::assert_snapshot!("doctor_plugin_without_rights", output.check("plugin"));
    insta::assert_snapshot!("doctor_rbac_without_rights", output.check("rbac"));
    insta::assert_snapshot!("doctor_envoy_without_rights", output.check("envoy"));
}

#[test]
fn one_envoy_is_checked_without_a_cluster() {
    let gateway = Gateway::installed(Gateway::bare(), Version::Oldest);
    let admin = gateway.envoy.admin_url("");
    let run_doctor = || doctor_without_cluster(&["--admin", &admin]);
    let output = wait_until_healthy(run_doctor);
    insta::assert_snapshot!("doctor_of_an_envoy", mask_changing_numbers(&output.text));
    check_that_the_recorded_stats_are_current(&gateway.envoy);

    let bare = Envoy::start(Version::Tested, "node: {id: bare, cluster: bare}", 1);
    let output = doctor_without_cluster(&["--admin", &bare.admin_url("")]);
    assert_eq!(output.code, Some(1), "{output:?}");
    insta::assert_snapshot!(
        "doctor_of_an_envoy_without_the_filter",
        mask_changing_numbers(&output.text)
    );

    let api = format!("http://127.0.0.1:{}", port::free());
    for (url, expected) in [
        (api.as_str(), "onnection refused"),
        (
            "https://127.0.0.1",
            "\"https://127.0.0.1\" is not the URL of an admin interface",
        ),
    ] {
        let output = doctor_without_cluster(&["--admin", url]);
        assert!(output.code == Some(2) && output.text.contains(expected), "{output:?}");
    }
}

/// Checks the recorded stats against this Envoy. `BURST_RECORD=1` records them again.
fn check_that_the_recorded_stats_are_current(envoy: &Envoy) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/stats.txt");
    let live = envoy.admin("/stats?filter=wasm").body;
    if env::var_os("BURST_RECORD").is_some() {
        fs::write(&file, &live).unwrap();
    }
    let recorded = fs::read_to_string(file).unwrap();
    let names = |text: &str| -> Vec<String> {
        let names = text.lines().filter_map(|line| line.split_once(": "));
        names.map(|(name, _)| name.to_owned()).collect()
    };
    assert_eq!(names(&live), names(&recorded));
}
