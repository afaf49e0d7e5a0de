//! The module that processes responses only.

use burst_testkit::{
    Version,
    filter::{Backend, Module, NGSA_1, NGSA_1_CLUSTER, Plugin, Proxy},
    http::Request,
    wasm,
};
use serde_json::json;

on_each_envoy!(the_header_only_module_sets_the_header_and_serves_no_endpoint);

/// The names that a module exports.
fn exports(module: Module) -> Vec<String> {
    let module = walrus::Module::from_file(wasm(module.file())).expect("a module");
    module.exports.iter().map(|export| export.name.clone()).collect()
}

#[test]
fn the_header_only_module_exports_no_request_path() {
    let of_requests = |module| {
        let exports = exports(module).into_iter();
        exports
            .filter(|name| name.starts_with("proxy_on_request_"))
            .collect::<Vec<_>>()
    };
    assert_eq!(of_requests(Module::HeaderOnly), [""; 0]);
    assert_eq!(of_requests(Module::Full), ["proxy_on_request_headers"]);
    assert!(exports(Module::HeaderOnly).contains(&"proxy_on_response_headers".to_owned()));
}

fn the_header_only_module_sets_the_header_and_serves_no_endpoint(version: Version) {
    let backend = Backend::sample();
    let plugin = Plugin::new("main", json!({})).module(Module::HeaderOnly);
    let proxy = Proxy::of(version).plugin(plugin).start(&backend);
    let mut main = proxy.client("main");
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    let answer = main.ask(&Request::get("/burstmetrics/services").through(NGSA_1_CLUSTER));
    assert_eq!(
        (answer.body.as_str(), answer.header("x-burst")),
        ("hello\n", Some(NGSA_1)),
        "the upstream's"
    );
    backend.scale_ngsa_1(3);
    let risen = NGSA_1.replace("current-load=1", "current-load=3");
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&risen));
}
