//! The kit's Envoy is a real one.

use std::time::Duration;

use burst_testkit::{Envoy, Version, http, validate, wait};

/// Envoy takes a changed file within milliseconds on an idle machine.
const SOON: Duration = Duration::from_secs(120);

const BOOTSTRAP: &str = "
node: {id: kit, cluster: kit}
dynamic_resources:
  lds_config: {path_config_source: {path: $FOLDER/listeners.yaml}}
";

/// One listener that answers every request with that text.
fn listeners(text: &str) -> String {
    let filter =
        "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";
    let router = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router";
    format!(
        "
resources:
- '@type': type.googleapis.com/envoy.config.listener.v3.Listener
  name: main
  address: {{socket_address: {{address: 127.0.0.1, port_value: 0}}}}
  filter_chains:
  - filters:
    - name: http
      typed_config:
        '@type': {filter}
        stat_prefix: main
        http_filters: [{{name: router, typed_config: {{'@type': {router}}}}}]
        route_config:
          virtual_hosts:
          - name: all
            domains: ['*']
            routes: [{{match: {{prefix: /}}, direct_response: {{status: 200, body: {{inline_string: {text}}}}}}}]
"
    )
}

#[test]
fn both_versions_serve_count_and_load_a_new_configuration() {
    for version in Version::ALL {
        let envoy = Envoy::of(version)
            .workers(1)
            .file("listeners.yaml", &listeners("old"))
            .start(BOOTSTRAP);
        let url = |envoy: &Envoy| format!("http://{}/", envoy.listener("main"));
        assert_eq!(http::get(&url(&envoy)).body, "old", "{version:?}");
        assert_eq!(envoy.stat("http.main.downstream_rq_2xx"), Some(1), "{version:?}");
        let served =
            "envoy_http_downstream_rq_xx{envoy_response_code_class=\"2\",envoy_http_conn_manager_prefix=\"main\"}";
        assert_eq!(envoy.metric(served), Some(1.0), "{version:?}");

        envoy.replace("listeners.yaml", &listeners("new"));
        wait::until(SOON, "the new listener", || {
            http::try_send("GET", &url(&envoy), &[]).is_ok_and(|answer| answer.body == "new")
        });
    }
}

#[test]
fn a_bootstrap_is_validated() {
    let folder = tempfile::tempdir().unwrap();
    let bootstrap = folder.path().join("bootstrap.yaml");
    std::fs::write(&bootstrap, "node: {id: kit, cluster: kit}").unwrap();
    assert_eq!(validate(Version::Tested, &bootstrap), Ok(()));
    std::fs::write(&bootstrap, "nodes: {}").unwrap();
    assert!(validate(Version::Tested, &bootstrap).unwrap_err().0.contains("nodes"));
}
