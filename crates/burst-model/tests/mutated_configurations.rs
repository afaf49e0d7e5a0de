//! Replaces each value of a configuration that uses every key, and adds and removes keys. The configuration is accepted, or
//! refused with an error that names the key.

use burst_model::config::{Artifact, Config};
use serde_json::{Map, Value, json};

/// Uses every key that goes together with the others.
const CONFIGURATION: &str = r#"{
    "cluster": "kube_api", "authority": "kubernetes", "source": "kubernetes", "role": "auto",
    "sync": {"mode": "watch", "window": "5s", "workload_window": "30s", "max_windows": 8},
    "poll_interval": "15s", "request_timeout": "5s", "page_size": 500, "max_staleness": "60s", "on_stale": "drop",
    "target_percent": 80, "namespaces": ["shop", "bank"],
    "hpas": {"label_selector": "a=b", "field_selector": "metadata.name=web"},
    "services": {"label_selector": "a=b"},
    "workloads": [{"group": "argoproj.io", "version": "v1alpha1", "resource": "rollouts", "kind": "Rollout"}],
    "cluster_domain": "cluster.local",
    "clusters": [{"name": "web", "service": "shop/web"}, {"name": "{namespace}/{service}"}],
    "header": {"name": "x-burst", "extra_keys": ["as-of"], "upstream": "replace",
        "when": {"request_header": "x-internal", "prefix": "yes"}},
    "endpoints": {"prefix": "/burstmetrics", "hosts": ["burst.internal"]},
    "requests": {"window": "60s", "report_interval": "5s", "in_flight": true,
        "hub": {"cluster": "hub", "authority": "hub.internal"}, "accept": {"filter_chain": "reports"}},
    "metrics_apis": {"filter_chain": "metrics", "labels": {"team": "web"}, "authorization": "api_server",
        "aliases": {"free_replicas": "burst_headroom"},
        "fallback": {"custom": {"cluster": "other"}, "external": {"cluster": "other", "authority": "other.internal"}},
        "policies": {"default": "deny", "root_namespace": "istio-system"}}
}"#;

/// Values of every type, and values at the borders of types.
fn values() -> Vec<Value> {
    let wide = "x".repeat(100_000);
    vec![
        Value::Null,
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(u64::MAX),
        json!(""),
        json!("?"),
        json!("a\nb"),
        json!(wide),
        json!([]),
        json!([0]),
        json!([[]]),
        json!({}),
        json!({"?": 0}),
    ]
}

/// The paths of all values: keys of objects, and indices of arrays.
fn paths(value: &Value, at: &str, found: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, value)| (index.to_string(), value))
            .collect(),
        _ => Vec::new(),
    };
    for (name, child) in children {
        let path = format!("{at}/{name}");
        found.push(path.clone());
        paths(child, &path, found);
    }
}

/// Checks that an error of the value at `path` names a key of the path, in a text that is short enough for a log line.
fn check(configuration: &Value, path: &str) -> bool {
    let Err(error) = Config::parse(configuration.to_string().as_bytes(), Artifact::Full) else {
        return false;
    };
    let error = error.to_string();
    let mut keys = path
        .split('/')
        .filter(|key| !key.is_empty() && key.parse::<usize>().is_err());
    assert!(keys.any(|key| error.contains(key)), "{path}: {error:.300}");
    assert!(error.len() < 2_000 && !error.contains('\n'), "{path}: {error:.300}");
    true
}

#[test]
fn a_refusal_of_any_value_names_the_key() {
    let configuration: Value = serde_json::from_str(CONFIGURATION).unwrap();
    let accepted = Config::parse(CONFIGURATION.as_bytes(), Artifact::Full);
    assert!(accepted.is_ok(), "{}", accepted.unwrap_err());
    let mut all = Vec::new();
    paths(&configuration, "", &mut all);
    let (mut tried, mut refused) = (0, 0);
    for path in &all {
        for value in values() {
            let mut mutated = configuration.clone();
            *mutated.pointer_mut(path).unwrap() = value;
            tried += 1;
            refused += usize::from(check(&mutated, path));
        }
        let (parent, key) = path.rsplit_once('/').unwrap();
        let mut mutated = configuration.clone();
        if let Some(fields) = mutated.pointer_mut(parent).and_then(Value::as_object_mut) {
            fields.remove(key);
            tried += 1;
            refused += usize::from(check(&mutated, path));
        }
    }
    assert!(tried > 800 && refused > tried / 2, "{tried} tried, {refused} refused");
}

#[test]
fn a_refusal_of_an_unknown_key_names_it_and_lists_the_known_ones() {
    let configuration: Value = serde_json::from_str(CONFIGURATION).unwrap();
    let mut all = vec![String::new()];
    paths(&configuration, "", &mut all);
    for path in all {
        let mut mutated = configuration.clone();
        let Some(fields) = mutated.pointer_mut(&path).and_then(Value::as_object_mut) else {
            continue;
        };
        // The labels and the aliases of the metrics APIs are any keys.
        if ["/metrics_apis/labels", "/metrics_apis/aliases"].contains(&path.as_str()) {
            continue;
        }
        let known = fields.keys().next().unwrap().clone();
        fields.extend(Map::from_iter([("clutser".to_owned(), json!("x"))]));
        let error = Config::parse(mutated.to_string().as_bytes(), Artifact::Full)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("`clutser`") && error.contains(&format!("`{known}`")),
            "{path}: {error}"
        );
    }
}
