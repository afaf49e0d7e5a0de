//! The queries of the Grafana dashboard: each returns data of a real proxy, and the values that its panel promises.

use std::time::UNIX_EPOCH;

use burst_lab::cluster::HPAS;
use burst_testkit::{
    Version,
    filter::{Backend, NGSA_1, NGSA_1_CLUSTER, PATIENCE, Plugin, Proxy, UpstreamProtocol, on_each_envoy},
    http::Request,
    wait,
};
use serde_json::{Value, json};

use crate::prometheus::{Prometheus, Sample, admin, read};

/// What Grafana puts in place of the variables of the dashboard.
const VARIABLES: [(&str, &str); 4] = [
    ("$namespace", ".*"),
    ("$service", ".*"),
    ("$instance", ".*"),
    ("$__rate_interval", "1m"),
];

/// A query of a panel.
#[derive(Debug)]
struct Query {
    panel: String,
    kind: String,
    legend: String,
    expression: String,
}

fn queries() -> Vec<Query> {
    let dashboard: Value = serde_json::from_str(&read("dashboard.json")).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels").clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let targets = panels.iter().flat_map(|panel| {
        let targets = panel["targets"].as_array().cloned().unwrap_or_default();
        targets.into_iter().map(move |target| (panel, target))
    });
    let query = |(panel, target): (&Value, Value)| Query {
        panel: text(&panel["title"]),
        kind: text(&panel["type"]),
        legend: text(&target["legendFormat"]),
        expression: VARIABLES
            .iter()
            .fold(text(&target["expr"]), |expression, (name, value)| {
                expression.replace(name, value)
            }),
    };
    targets.map(query).collect()
}

#[test]
fn every_query_of_the_dashboard_has_data_of_a_real_proxy() {
    on_each_envoy(check);
}

fn check(version: Version) {
    let backend = Backend::sample();
    let keys = json!({"endpoints": {"extra_fields": ["ready", "demand", "state"]}});
    let plugin = Plugin::new("main", keys).upstream_filter(UpstreamProtocol::Http1);
    let proxy = Proxy::of(version).plugin(plugin).start(&backend);
    let listener = proxy.envoy.listener("main").to_string();
    let prometheus = Prometheus::start(&[admin(&proxy)], &[listener]);
    let mut main = proxy.client("main");
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));

    for query in queries() {
        wait::for_ok(PATIENCE, &format!("data of {query:?}"), || {
            main.ask_each(&Request::to("elsewhere"));
            let samples = prometheus.query(&query.expression);
            if samples.is_empty() { Err("no data") } else { Ok(()) }
        });
    }
    // What the panels show of the first service, and that it follows a change.
    wait_for_values(&prometheus, [1.0, 4.0, 5.0, 4.0]);
    backend.scale_ngsa_1(3);
    wait_for_values(&prometheus, [3.0, 4.0, 5.0, 2.0]);
    // Six times the target of 70 % on one replica.
    let metric = json!({"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 420}}});
    let patch = json!({"status": {"currentReplicas": 1, "currentMetrics": [metric]}});
    backend
        .cluster
        .patch(HPAS, "default/ngsa-hpa-1", &patch)
        .expect("the HPA");
    wait::for_ok(PATIENCE, "a service that wants more than its maximum", || {
        let shown = [
            show(&prometheus, "Wanted and ready replicas"),
            show(&prometheus, "State"),
        ]
        .concat();
        let of_first = shown.iter().filter(|sample| sample.label("service") == "ngsa-svc-1");
        let shown: Vec<_> = of_first.map(|sample| (sample.value, sample.label("state"))).collect();
        if shown == [(6.0, ""), (1.0, ""), (1.0, "limited")] {
            Ok(())
        } else {
            Err(format!("{shown:?}"))
        }
    });
    for panel in ["Age of the snapshot", "Leader"] {
        wait::for_ok(PATIENCE, panel, || {
            let shown = show(&prometheus, panel);
            // The clock of a sample is that of its scrape, up to a second before.
            let is_recent = shown.iter().all(|sample| (-1.0..60.0).contains(&sample.value));
            is_recent.then_some(()).ok_or(format!("{shown:?}"))
        });
    }
    record(version, &backend, &prometheus, || {
        drop(main.ask_each(&Request::to(NGSA_1_CLUSTER)));
    });
}

/// The samples of all queries of a panel.
#[track_caller]
fn show(prometheus: &Prometheus, panel: &str) -> Vec<Sample> {
    let queries = queries();
    let of_panel = queries.iter().filter(|query| query.panel == panel);
    let samples: Vec<_> = of_panel.flat_map(|query| prometheus.query(&query.expression)).collect();
    assert!(!samples.is_empty(), "no data in the panel {panel}");
    samples
}

/// Waits for the current, target and maximum replicas of the first service, and its headroom.
#[track_caller]
fn wait_for_values(prometheus: &Prometheus, values: [f64; 4]) {
    wait::for_ok(PATIENCE, &format!("{values:?}"), || {
        let samples = ["Replicas, target and maximum", "Headroom"]
            .iter()
            .flat_map(|panel| show(prometheus, panel));
        let of_first = samples.filter(|sample| sample.label("service") == "ngsa-svc-1");
        let shown: Vec<f64> = of_first.map(|sample| sample.value).collect();
        if shown == values {
            Ok(())
        } else {
            Err(format!("{shown:?}"))
        }
    });
}

/// With `BURST_RECORD` set, lets the first service scale up and down for a while, and saves what each query returns for that
/// time. `bench/plot` draws docs/dashboard.svg from it.
fn record(version: Version, backend: &Backend, prometheus: &Prometheus, mut traffic: impl FnMut()) {
    /// The replicas, each for some seconds.
    const STEPS: [u32; 12] = [1, 1, 2, 3, 4, 5, 5, 5, 4, 3, 2, 1];
    if std::env::var_os("BURST_RECORD").is_none() || version != Version::Tested {
        return;
    }
    let begin = now();
    for (step, replicas) in (1..).zip(STEPS) {
        backend.scale_ngsa_1(replicas);
        wait::until(PATIENCE, "the end of the step", || {
            traffic();
            now() >= begin + 10 * step
        });
    }
    let panels = queries().into_iter().map(|query| {
        let series = prometheus.range(&query.expression, [begin, now()]);
        json!({"panel": query.panel, "kind": query.kind, "legend": query.legend, "series": series})
    });
    let panels: Vec<Value> = panels.collect();
    let file = burst_testkit::wasm("").with_file_name("dashboard.json");
    std::fs::write(&file, json!(panels).to_string()).expect("a file in the target folder");
}

fn now() -> u64 {
    UNIX_EPOCH.elapsed().expect("a time after 1970").as_secs()
}
