//! The real HPA controller scales by the metrics of the proxy, and never by a missing or stale one.

use std::fs;

use burst_testkit::{
    Controllers, Version, http,
    metrics_apis::{
        Example, SOON, Stage, shop,
        workers::{Worker, wait_for_replicas, wait_until_active},
    },
    repository, wait,
};
use serde_json::{Value, json};

/// With a hub, the metrics with this suffix include the requests of all proxies.
pub(crate) const RATES: &str =
    r#""requests": {"window": "10s", "report_interval": "1s", "accept": {"filter_chain": "hub"}}, "#;

pub(crate) const RATE: &str = "burst_requests_per_second";

pub(crate) fn value(value: u32) -> Value {
    json!({"type": "Value", "value": value.to_string()})
}

pub(crate) fn average(value: u32) -> Value {
    json!({"type": "AverageValue", "averageValue": value.to_string()})
}

pub(crate) fn object(kind: &str, name: &str, metric: &str, target: &Value) -> Value {
    let described = json!({"apiVersion": "v1", "kind": kind, "name": name});
    json!({"type": "Object", "object": {
        "describedObject": described, "metric": {"name": metric}, "target": target,
    }})
}

pub(crate) fn external(metric: &str, labels: &Value, target: &Value) -> Value {
    let selector = json!({"matchLabels": labels});
    json!({"type": "External", "external": {"metric": {"name": metric, "selector": selector}, "target": target}})
}

/// The name that prometheus-adapter's documentation uses for requests.
const ALIAS: &str = "http_requests_per_second";

fn with_alias() -> Example {
    let metrics_apis = r#""metrics_apis": {"filter_chain": "metrics-apis""#;
    Example {
        changes: vec![(
            metrics_apis,
            format!(r#"{metrics_apis}, "aliases": {{"{ALIAS}": "{RATE}"}}"#),
        )],
        ..Example::unchanged()
    }
}

/// The last metric is the queue of seed 002, as in v2: the sum of several series, with a target per worker.
#[test]
fn an_hpa_scales_up_and_down_by_every_kind_of_metric() {
    let stage = Stage::of(Version::Tested, Controllers::All, RATES, |_| with_alias());
    shop::create(&stage.cluster);
    let workers = [
        Worker::new("by-alias", object("Service", "web", ALIAS, &average(1))),
        Worker::new("by-object", object("Service", "web", RATE, &value(2))),
        Worker::new("by-object-average", object("Service", "web", RATE, &average(1))),
        Worker::new("by-namespace", object("Namespace", "shop", RATE, &average(1))),
        Worker::new("by-external", external(RATE, &json!({"service": "web"}), &value(2))),
        Worker::new(
            "queue-worker",
            external(RATE, &json!({"namespace": "shop"}), &average(2)),
        ),
    ];
    workers.iter().for_each(|worker| worker.create(&stage.cluster));
    wait_until_active(&stage.cluster, &workers);
    wait_for_replicas(&stage.cluster, &workers, 2);
    let traffic = stage.proxy.traffic(&["/", "/api"]);
    wait_for_replicas(&stage.cluster, &workers, 10);
    traffic.stop();
    wait_for_replicas(&stage.cluster, &workers, 2);
}

#[test]
fn a_service_scaled_to_zero_scales_up_with_its_first_requests() {
    let stage = Stage::with(Version::Tested, Controllers::All, RATES);
    shop::create(&stage.cluster);
    let mut worker = Worker::new("sleeper", external(RATE, &json!({"service": "web"}), &average(10)));
    worker.least = 0;
    worker.create(&stage.cluster);
    let sleeper = std::slice::from_ref(&worker);
    wait_until_active(&stage.cluster, sleeper);
    wait_for_replicas(&stage.cluster, sleeper, 0);
    let traffic = stage.proxy.traffic(&["/"]);
    wait::until(SOON, "a replica", || worker.replicas(&stage.cluster) != "0");
    traffic.stop();
}

/// The guide's keys and objects, as they stand there.
#[test]
fn the_guide_leads_from_nothing_to_a_scaled_deployment() {
    let guide = fs::read_to_string(repository().join("docs/scaling-on-requests.md")).expect("the guide");
    let block = |language: &str| {
        let (_, rest) = guide.split_once(&format!("```{language}\n")).expect("a block");
        rest.split_once("```").expect("its end").0
    };
    let keys = block("json")
        .trim()
        .strip_prefix('{')
        .and_then(|keys| keys.strip_suffix('}'));
    let keys = keys.expect("a JSON object");
    let stage = Stage::with(Version::Tested, Controllers::All, &format!("{keys}, "));
    stage
        .cluster
        .apply("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}");
    stage.cluster.apply(block("yaml"));
    let web = [Worker::new("web", Value::Null)];
    let uncounted = "requests were not counted for a whole window yet";
    assert!(guide.contains(&format!("`{uncounted}`")));
    wait::for_ok(SOON, "the message", || {
        let message = web[0].message(&stage.cluster);
        if message.contains(uncounted) {
            Ok(())
        } else {
            Err(message)
        }
    });
    wait_for_replicas(&stage.cluster, &web, 1);
    let traffic = stage.proxy.traffic(&["/"]);
    wait_for_replicas(&stage.cluster, &web, 4);
    wait::for_ok(SOON, "the header", || {
        let answer = http::get(&format!("http://{}/", stage.proxy.public()));
        let header = answer.header("x-burst").unwrap_or_default();
        if guide.contains(&format!("`x-burst: {header}`")) {
            Ok(())
        } else {
            Err(header.to_owned())
        }
    });
    traffic.stop();
}

/// A stale value is an error, and an error leaves a Deployment as it is. A wrong number would not.
#[test]
fn an_hpa_keeps_its_replicas_while_the_snapshot_is_stale() {
    let mut stage = Stage::with(Version::Tested, Controllers::All, r#""max_staleness": "5s", "#);
    shop::create(&stage.cluster);
    let web = json!({"service": "web"});
    let worker = Worker::new("follower", external("burst_current_load", &web, &average(1)));
    worker.create(&stage.cluster);
    scale_web(&stage, 4);
    let follower = std::slice::from_ref(&worker);
    wait_until_active(&stage.cluster, follower);
    wait_for_replicas(&stage.cluster, follower, 4);

    stage.api = None;
    wait::for_ok(SOON, "no metric", || {
        let activity = worker.activity(&stage.cluster);
        if activity == "False FailedGetExternalMetric" {
            Ok(())
        } else {
            Err(activity)
        }
    });
    scale_web(&stage, 3);
    let looks = stage.proxy.envoy.stat(UNAVAILABLE_ANSWERS);
    wait::until(SOON, "some more looks", || {
        stage.proxy.envoy.stat(UNAVAILABLE_ANSWERS) > looks.map(|looks| looks + 5)
    });
    assert_eq!(worker.replicas(&stage.cluster), "4");

    stage.api = Some(stage.cluster.kubectl_proxy(stage.api_port));
    wait_until_active(&stage.cluster, follower);
    wait_for_replicas(&stage.cluster, follower, 3);
}

/// The metrics listener's answers that it has no fresh value.
const UNAVAILABLE_ANSWERS: &str = "http.metrics_apis.downstream_rq_5xx";

fn scale_web(stage: &Stage, replicas: u32) {
    let replicas = format!("--replicas={replicas}");
    stage
        .cluster
        .kubectl(&["scale", "deployment", "web", "--namespace", shop::NAMESPACE, &replicas]);
}
