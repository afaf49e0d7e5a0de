//! `kubectl get` of a metric prints the values of that metric and of no other.

use burst_testkit::{
    Controllers, Shared, Version,
    metrics_apis::{SOON, Stage, shop},
    wait,
};
use serde_json::json;

use crate::scaling::RATES;

const GROUP: &str = "external.metrics.k8s.io";

/// Each metric of the snapshot, with its values in the shop of [`stage`]. The values differ between metrics.
const LOADS: [(&str, [&str; 2]); 5] = [
    ("burst_current_load", ["api 2", "web 3"]),
    ("burst_headroom", ["api 8", "web 2"]),
    ("burst_max_load", ["api 10", "web 5"]),
    ("burst_target_load", ["api 8", "web 4"]),
    ("burst_utilization", ["api 200m", "web 600m"]),
];

/// The metrics of the requests, in the order of discovery.
const RATE_NAMES: [&str; 3] = [
    "burst_rejected_per_second",
    "burst_requests_per_second",
    "burst_requests_in_flight",
];

/// No test here changes this cluster.
static SHARED_CLUSTER: Shared<Stage> = Shared::new();

/// A shop whose requests are counted, once kubectl finds its metrics.
fn stage() -> Stage {
    let stage = Stage::with(Version::Tested, Controllers::None, RATES);
    shop::create(&stage.cluster);
    shop::observe(&stage.cluster);
    stage.wait_for_the_shop();
    let status = json!({"status": {"currentReplicas": 3}}).to_string();
    let patch = [
        "patch",
        "hpa",
        "web",
        "--namespace",
        shop::NAMESPACE,
        "--subresource=status",
    ];
    stage
        .cluster
        .kubectl(&[&patch[..], &["--type=merge", "--patch", &status]].concat());
    let listed = ["api-resources", "--api-group", GROUP, "--output=name", "--cached=false"];
    wait::for_ok(SOON, "what kubectl lists", || {
        let names = stage.cluster.try_kubectl(&listed, "")?;
        let found = names.contains("burst_requests_in_flight");
        found.then_some(()).ok_or(names)
    });
    stage
}

/// The names and values in the table that kubectl prints.
fn table(stage: &Stage, metric: &str) -> Result<Vec<String>, String> {
    let resource = format!("{metric}.{GROUP}");
    let get = ["get", &resource, "--namespace", shop::NAMESPACE, "--no-headers"];
    let printed = stage.cluster.try_kubectl(&get, "")?;
    let row = |line: &str| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    Ok(printed.lines().map(row).collect())
}

/// The metrics and values of the items that kubectl reads as JSON.
fn items(stage: &Stage, metric: &str, selector: &str) -> Result<Vec<String>, String> {
    let resource = format!("{metric}.{GROUP}");
    let output = r#"--output=jsonpath={range .items[*]}{.metricName} {.value}{"\n"}{end}"#;
    let get = [
        "get",
        &resource,
        "--namespace",
        shop::NAMESPACE,
        "--selector",
        selector,
        output,
    ];
    let printed = stage.cluster.try_kubectl(&get, "")?;
    Ok(printed.lines().map(str::to_owned).collect())
}

#[test]
fn kubectl_prints_the_values_of_the_requested_metric() {
    let stage = SHARED_CLUSTER.get(stage);
    wait::for_ok(SOON, "three replicas of web", || {
        let found = LOADS.map(|(metric, _)| table(&stage, metric));
        let expected = LOADS.map(|(_, values)| Ok(values.map(str::to_owned).to_vec()));
        if found == expected {
            Ok(())
        } else {
            Err(format!("{found:#?}"))
        }
    });
    for (metric, [_, web]) in LOADS {
        let value = web.replace("web", metric);
        assert_eq!(items(&stage, metric, "service=web"), Ok(vec![value]));
    }

    let traffic = stage.proxy.traffic(&["/"]);
    let [rejected, requests, in_flight] = RATE_NAMES;
    wait::for_ok(SOON, "requests to web", || {
        let rows = table(&stage, requests)?;
        let counted = matches!(&rows[..], [api, web] if api == "api 0" && web.starts_with("web ") && web != "web 0");
        counted.then_some(()).ok_or(format!("{rows:?}"))
    });
    assert_eq!(
        table(&stage, rejected),
        Ok(vec!["api 0".to_owned(), "web 0".to_owned()])
    );
    for metric in [rejected, requests, in_flight] {
        let found = items(&stage, metric, "").expect("items");
        let names: Vec<_> = found.iter().filter_map(|item| item.split(' ').next()).collect();
        assert_eq!(names, [metric; 2]);
    }
    traffic.stop();
}

/// Custom metrics are subresources, which kubectl cannot get by name. It reports that, and prints no other resource.
#[test]
fn kubectl_finds_no_resource_of_the_custom_metrics() {
    let stage = SHARED_CLUSTER.get(stage);
    for name in ["services", "deployments.apps", "burst_headroom", "MetricValueList"] {
        let resource = format!("{name}.custom.metrics.k8s.io");
        let refused = stage
            .cluster
            .kubectl_refused(&["get", &resource, "--namespace", shop::NAMESPACE], "");
        assert!(
            refused.contains("the server doesn't have a resource type"),
            "{name}: {refused}"
        );
    }
    let path = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/services/web/burst_max_load";
    let body = stage.raw(path).expect("a value");
    assert!(
        body.contains(r#""name":"burst_max_load""#) && body.contains(r#""value":"5""#),
        "{body}"
    );
}
