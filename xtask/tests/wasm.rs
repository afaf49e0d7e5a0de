//! The exports and the sizes of the modules that `cargo xtask wasm --test` built.

use burst_testkit::wasm;
use std::process::Command;
use walrus::Module;

/// The exports that a host needs to run a module, and the callbacks of a root context.
const LIFECYCLE: [&str; 9] = [
    "_initialize",
    "malloc",
    "memory",
    "proxy_abi_version_0_2_1",
    "proxy_on_configure",
    "proxy_on_context_create",
    "proxy_on_http_call_response",
    "proxy_on_queue_ready",
    "proxy_on_tick",
];

/// The largest allowed sizes in bytes. docs/performance.md has the sizes now; a higher limit needs a reason. The last one was
/// the signals (load reports, degraded services, `Retry-After`, overflow, peers) and `requests.pods`.
const FULL: u64 = 1_280_000;
const HEADER_ONLY: u64 = 645_000;

fn exports(file: &str) -> Vec<String> {
    let module = Module::from_file(wasm(file)).expect("a module");
    let mut exports: Vec<_> = module.exports.iter().map(|export| export.name.clone()).collect();
    exports.sort_unstable();
    exports
}

fn with(stream: &[&str]) -> Vec<String> {
    let mut exports: Vec<_> = LIFECYCLE.iter().chain(stream).map(ToString::to_string).collect();
    exports.sort_unstable();
    exports
}

#[test]
fn the_full_module_exports_only_the_callbacks_that_it_uses() {
    let whole_stream = [
        "proxy_on_request_headers",
        "proxy_on_response_headers",
        "proxy_on_response_body",
        "proxy_on_delete",
    ];
    assert_eq!(exports("burst-metrics.wasm"), with(&whole_stream));
}

#[test]
fn streaming_adds_no_callback_to_the_one_that_the_header_only_module_has_for_a_response() {
    assert_eq!(
        exports("burst-metrics-header.wasm"),
        with(&["proxy_on_response_headers"])
    );
}

#[test]
fn no_module_exceeds_its_size_limit() {
    for (file, most) in [("burst-metrics.wasm", FULL), ("burst-metrics-header.wasm", HEADER_ONLY)] {
        let size = wasm(file).metadata().expect("a file").len();
        assert!(size <= most, "{file} has {size} bytes; the limit is {most}");
    }
}

#[test]
fn a_back_trace_has_names() {
    let module = Module::from_file(wasm("burst-metrics.wasm")).expect("a module");
    assert!(module.funcs.by_name("ClusterReader::advance").is_some());
}

#[test]
fn a_plain_build_for_wasm32_fails_and_names_the_command() {
    let output = Command::new("setup/wasm-cargo")
        .args(["check", "--package", "burst-metrics", "--lib"])
        .env("CARGO_TARGET_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/plain"))
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()
        .expect("setup/wasm-cargo runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{text}");
    let errors: Vec<_> = text.lines().filter(|line| line.contains("burst-metrics@")).collect();
    assert_eq!(errors.len(), 1, "{text}");
    assert!(
        errors[0].ends_with("a plain build makes a module that does nothing: run `make wasm`"),
        "{text}"
    );
}
