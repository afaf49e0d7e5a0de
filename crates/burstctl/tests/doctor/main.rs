//! `doctor` before a real API server, and of a real Envoy with the real filter.
#![cfg(feature = "live")]

#[path = "../common/kubeconfig.rs"]
mod kubeconfig;
mod kubelet;
mod scene;

use std::path::Path;
use std::time::Duration;
use std::{env, fs};

use burst_testkit::{Envoy, Version, port, wait};

use kubeconfig::Kubeconfig;
use scene::{Scene, Told, doctor, doctor_alone};

/// A poll a second, and a machine that builds other things meanwhile.
const SOON: Duration = Duration::from_secs(120);

/// Waits until a check says that.
#[track_caller]
fn wait_for(ask: impl Fn() -> Told, about: &str, words: &str) -> Told {
    wait::for_ok(SOON, &format!("{about}: {words}"), || {
        let told = ask();
        if told.find(about).is_some_and(|said| said.contains(words)) {
            Ok(told)
        } else {
            Err(told.text)
        }
    })
}

/// Waits until the first poll is over and shown.
#[track_caller]
fn wait_until_well(ask: impl Fn() -> Told) -> Told {
    wait::for_ok(SOON, "all is well", || {
        let told = ask();
        if told.code == Some(0) && told.text.contains("with a load: 1") {
            Ok(told)
        } else {
            Err(told.text)
        }
    })
}

/// A text with the numbers that are others each time taken out.
fn steady(text: &str) -> String {
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
fn each_thing_that_is_missing_is_found_by_its_check() {
    let cluster = Scene::bare();
    let nothing = doctor(&cluster.kubeconfig(), &[]);
    assert_eq!(nothing.code, Some(1), "{nothing:?}");
    insta::assert_snapshot!("doctor_without_a_gateway", steady(&nothing.text));

    let scene = Scene::installed(cluster, Version::Tested);
    let told = wait_until_well(|| scene.doctor(&[]));
    insta::assert_snapshot!("doctor_well", steady(&told.text));
    let json = scene.doctor(&["--output", "json"]).text;
    assert_eq!(json.lines().count(), told.text.lines().count() - 1, "{json}");
    let first = "{\"check\":\"api-server\",\"of\":\"\",\"verdict\":\"ok\",\"found\":\"Kubernetes v";
    assert!(json.starts_with(first), "{json}");

    let cluster = &scene.cluster;
    let with = |patch: &str| {
        let patch = ["--namespace=istio-system", "--type=merge", "--patch", patch];
        cluster.kubectl(&[&["patch", "wasmplugin", "burst-metrics"], &patch[..]].concat());
        scene.doctor(&[])
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
    let told = with(&format!(
        r#"{{"spec":{{"selector":{{"matchLabels":{{"istio":"ingressgateway"}}}},
        "pluginConfig":{{"cluster":"burst_kube_api","max_staleness":"15s","workloads":{rollouts}}}}}}}"#
    ));
    assert_eq!(told.code, Some(1), "{told:?}");
    assert_eq!(steady(&shown("burstctl doctor")), steady(&told.text));

    cluster.kubectl(&["delete", "clusterrolebinding", "burst-metrics"]);
    let told = wait_for(|| scene.doctor(&[]), "poll", "15 s are allowed");
    assert_eq!(told.code, Some(1), "{told:?}");
    assert!(told.check("poll").contains(" forbidden;"), "{told:?}");
    assert!(
        told.check("poll")
            .ends_with("the role lacks a list: see the rbac check; the proxy's log names it")
    );
    without_rights_nothing_can_be_told(&scene);
}

/// What the README shows under a command.
fn shown(command: &str) -> String {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let (_, block) = readme.split_once(&format!("```console\n$ {command}\n")).unwrap();
    block.split_once("```").unwrap().0.to_owned()
}

fn without_rights_nothing_can_be_told(scene: &Scene) {
    let cluster = &scene.cluster;
    cluster.kubectl(&["create", "serviceaccount", "reader"]);
    let kubeconfig = Kubeconfig::of(cluster, "reader");
    let ask = || doctor(&kubeconfig.path(), &[]);
    let told = ask();
    assert_eq!(told.code, Some(2), "{told:?}");
    insta::assert_snapshot!("doctor_pods_without_rights", told.check("pods"));
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
    // An API server takes a moment to know a new role.
    let told = wait_for(ask, "pods", "1 in istio-system");
    insta::assert_snapshot!("doctor_plugin_without_rights", told.check("plugin"));
    insta::assert_snapshot!("doctor_rbac_without_rights", told.check("rbac"));
    insta::assert_snapshot!("doctor_envoy_without_rights", told.check("envoy"));
}

#[test]
fn an_envoy_is_asked_without_a_cluster() {
    let scene = Scene::installed(Scene::bare(), Version::Oldest);
    let admin = scene.envoy.admin_url("");
    let ask = || doctor_alone(&["--admin", &admin]);
    let told = wait_until_well(ask);
    insta::assert_snapshot!("doctor_of_an_envoy", steady(&told.text));
    the_stats_that_were_recorded_are_still_those_of_the_filter(&scene.envoy);

    let bare = Envoy::start(Version::Tested, "node: {id: bare, cluster: bare}", 1);
    let told = doctor_alone(&["--admin", &bare.admin_url("")]);
    assert_eq!(told.code, Some(1), "{told:?}");
    insta::assert_snapshot!("doctor_of_an_envoy_without_the_filter", steady(&told.text));

    let api = format!("http://127.0.0.1:{}", port::free());
    for (url, words) in [
        (api.as_str(), "onnection refused"),
        (
            "https://127.0.0.1",
            "\"https://127.0.0.1\" is not the URL of an admin interface",
        ),
    ] {
        let told = doctor_alone(&["--admin", url]);
        assert!(told.code == Some(2) && told.text.contains(words), "{told:?}");
    }
}

/// `BURST_RECORD=1` records them again.
fn the_stats_that_were_recorded_are_still_those_of_the_filter(envoy: &Envoy) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/stats.txt");
    let live = envoy.admin("/stats?filter=%5Ewasm").body;
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
