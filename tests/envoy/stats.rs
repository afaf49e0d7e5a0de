//! The filter's stats in Envoy, by the names in docs/stats.md.

use std::collections::BTreeSet;

use burst_lab::cluster::HPAS;
use burst_testkit::{
    Version,
    filter::{Backend, NGSA_1, NGSA_1_CLUSTER, Proxy},
    http::Request,
    repository,
};
use serde_json::json;

on_each_envoy!(
    prometheus_shows_the_documented_stats_and_no_others,
    the_gauges_count_the_objects_that_were_read,
);

/// The stats in the table of docs/stats.md.
fn documented() -> BTreeSet<String> {
    let table = std::fs::read_to_string(repository().join("docs/stats.md")).expect("the table");
    let rows = table.lines().filter(|line| line.starts_with("| `burst_"));
    let names = rows.flat_map(|row| {
        row.split('|')
            .nth(1)
            .into_iter()
            .flat_map(|cell| cell.split('`').skip(1).step_by(2))
    });
    names.map(ToOwned::to_owned).collect()
}

fn prometheus_shows_the_documented_stats_and_no_others(version: Version) {
    let backend = Backend::sample();
    let (proxy, mut main) = Proxy::start(version, &backend, json!({}));
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    let metrics = proxy.envoy.admin("/stats/prometheus").body;
    // A histogram has many lines of samples, but one line with its type, like all stats.
    let types = metrics.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let shown: BTreeSet<_> = types
        .filter(|line| line.starts_with("burst_"))
        .map(|line| line.split(' ').next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(shown, documented());
}

fn the_gauges_count_the_objects_that_were_read(version: Version) {
    let backend = Backend::sample();
    let (proxy, mut main) = Proxy::start(version, &backend, json!({}));
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    let shows = |name: &str, value| proxy.wait_for_stat(name, |shown| shown == value);
    // Five HPAs, four Services, four Deployments and a StatefulSet.
    shows("burst_objects", 14);
    shows("burst_services", 4);
    shows("burst_unobserved_hpas", 0);
    shows("burst_overshadowed_hpas", 0);
    shows("burst_snapshot_generation", 1);
    proxy.wait_for_stat("burst_poll_ok_total", |count| count >= 4);
    proxy.wait_for_stat("burst_header_added_total", |count| count >= 1);

    let target = |name: &str| json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name});
    for (name, target) in [("unobserved", target("nothing")), ("zz-second", target("ngsa-1"))] {
        let hpa = json!({
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"scaleTargetRef": target, "maxReplicas": 3},
        });
        backend.cluster.apply(hpa).expect("an HPA");
    }
    backend
        .cluster
        .set_current_replicas("default/zz-second", 1)
        .expect("the HPA");
    shows("burst_unobserved_hpas", 1);
    shows("burst_overshadowed_hpas", 1);
    shows("burst_objects", 16);
    let generation = proxy.wait_for_stat("burst_snapshot_generation", |shown| shown > 1);
    assert!(backend.cluster.delete(HPAS, "default/ngsa-hpa-1"));
    proxy.wait_for_stat("burst_snapshot_generation", |shown| shown > generation);
    shows("burst_objects", 15);
}
