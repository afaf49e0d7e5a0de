//! What each `failure_policy` of Envoy does after a trap, and without a module, as docs/operating.md says.

use std::fs;

use burst_testkit::{
    Envoy, Version,
    filter::{Backend, PATIENCE},
    http::{Answer, Request, ask},
    repository, validate, wait, wasm,
};

on_each_envoy!(
    after_a_trap_only_fail_reload_brings_the_header_back,
    envoy_does_not_start_without_the_module_under_any_policy,
);

const POLICIES: [&str; 3] = ["FAIL_RELOAD", "FAIL_OPEN", "FAIL_CLOSED"];

/// The smallest shipped configuration before this backend, with that policy and module.
fn bootstrap(backend: &Backend, policy: &str, module: &str) -> String {
    let shipped = fs::read_to_string(repository().join("filter-config/01-minimal.yaml")).expect("the configuration");
    let changes = [
        ("failure_policy: FAIL_RELOAD", format!("failure_policy: {policy}")),
        (
            "target/wasm/burst-metrics.wasm",
            wasm("").join(module).display().to_string(),
        ),
        ("port_value: 8080}}", "port_value: 0}}\n      name: main".to_owned()),
        ("port_value: 8002", format!("port_value: {}", backend.upstream_port())),
        ("port_value: 8001", format!("port_value: {}", backend.kube_port())),
        ("\"shop/web\"", "\"default/ngsa-svc-1\"".to_owned()),
    ];
    changes.into_iter().fold(shipped, |text, (ships, here)| {
        assert!(text.contains(ships), "`{ships}` is not in 01-minimal.yaml");
        text.replace(ships, &here)
    })
}

/// The status, and whether there is a header.
fn seen(answer: &Answer) -> (u16, bool) {
    (answer.status, answer.header("x-burst").is_some())
}

fn after_a_trap_only_fail_reload_brings_the_header_back(version: Version) {
    let backend = Backend::sample();
    for (policy, after) in POLICIES.into_iter().zip([(200, true), (200, false), (503, false)]) {
        let envoy = Envoy::start(version, &bootstrap(&backend, policy, "burst-metrics-trap.wasm"), 1);
        let request = Request::get(format!("http://{}/", envoy.listener("main")));
        let get = |request: &Request| seen(&ask(request).unwrap_or_else(|error| panic!("{policy}: {error}")));
        let wait_for = |wanted| {
            wait::for_ok(PATIENCE, policy, || {
                let seen = get(&request);
                (seen == wanted).then_some(()).ok_or(format!("{seen:?}"))
            });
        };
        wait_for((200, true));
        let trap = request.clone().header("x-burst-test-trap", "1");
        assert_eq!(get(&trap), (503, false), "{policy}: the request that traps");
        wait_for(after);
        // Without FAIL_RELOAD this is so for good, and not only until the next reload.
        let reloads = || envoy.stat("wasm.burst-metrics.vm_reload_success").unwrap_or(0);
        assert_eq!(reloads(), u64::from(policy == "FAIL_RELOAD"), "{policy}");
    }
}

fn envoy_does_not_start_without_the_module_under_any_policy(version: Version) {
    let backend = Backend::sample();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("bootstrap.yaml");
    for policy in POLICIES {
        fs::write(&file, bootstrap(&backend, policy, "no-such-module.wasm")).expect("a bootstrap");
        let refused = validate(version, &file).expect_err("it is refused");
        assert!(refused.0.contains("no-such-module.wasm"), "{policy}: {}", refused.0);
    }
}
