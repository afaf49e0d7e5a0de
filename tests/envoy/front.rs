//! An Envoy without the filter, in front of proxies or pods, with settings that a guide recommends.

use std::fs;

use burst_testkit::{Envoy, Version, repository};

/// The first block of YAML in a page of docs/ that fits.
#[track_caller]
pub(crate) fn block_of_guide(page: &str, fits: impl Fn(&str) -> bool) -> String {
    let guide = fs::read_to_string(repository().join("docs").join(page)).expect("the guide");
    let mut blocks = guide
        .split("```yaml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next());
    let block = blocks.find(|block| fits(block)).expect("the block of the guide");
    block.trim_end().to_owned()
}

/// Settings with other times, each in the place of one that the guide has.
#[track_caller]
pub(crate) fn with_times(settings: String, times: &[(&str, &str)]) -> String {
    times.iter().fold(settings, |settings, (ships, here)| {
        assert!(settings.contains(ships), "`{ships}` is not in the guide");
        settings.replace(ships, here)
    })
}

/// An endpoint at that port of 127.0.0.1.
pub(crate) fn endpoint(port: u16) -> String {
    format!("{{endpoint: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}}}}}")
}

/// Starts the Envoy. It sends every request to the cluster `web`. `route` and `cluster` are further settings of its route and of
/// that cluster, and `localities` its endpoints, each an item of `load_assignment.endpoints`.
#[track_caller]
pub(crate) fn start(version: Version, route: &str, cluster: &str, localities: &[String]) -> Envoy {
    let indented = |settings: &str, indent| settings.replace('\n', &format!("\n{}", " ".repeat(indent)));
    let (route, cluster, localities) = (indented(route, 24), indented(cluster, 6), localities.join(", "));
    let bootstrap = format!(
        r#"
static_resources:
  listeners:
    - name: main
      address: {{socket_address: {{address: 127.0.0.1, port_value: 0}}}}
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: main
                http_filters:
                  - name: envoy.filters.http.router
                    typed_config: {{"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}
                route_config:
                  virtual_hosts:
                  - name: web
                    domains: ["*"]
                    routes:
                    - match: {{prefix: /}}
                      route:
                        cluster: web
                        {route}
  clusters:
    - name: web
      {cluster}
      load_assignment: {{cluster_name: web, endpoints: [{localities}]}}
"#
    );
    Envoy::start(version, &bootstrap, 1)
}
