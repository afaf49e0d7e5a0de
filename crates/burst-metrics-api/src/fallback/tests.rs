use super::*;
use crate::adapters::{AdapterResources, resource_list_path};
use burst_model::config::{Artifact, Authorization, Config};
use burst_model::policies::EffectivePolicies;
use burst_model::request_rates::Rates;
use burst_model::serve::ServingCache;
use burst_model::time::Time;

fn config(fallback: &str) -> Config {
    let config = format!(r#"{{"cluster":"k","metrics_apis":{{"filter_chain":"m","fallback":{fallback}}}}}"#);
    Config::parse(config.as_bytes(), Artifact::Full).unwrap()
}

/// Whether a request is delegated, or the status of the answer.
fn delegation(config: &Config, path: &str, user: &str) -> Result<bool, u16> {
    let sources = MetricSources {
        config,
        apis: config.metrics_apis.as_ref().unwrap(),
        cache: &ServingCache::default(),
        rates: &Rates::default(),
        adapter_resources: &AdapterResources::default(),
        policies: &EffectivePolicies::default(),
        now: Time::from_unix_millis(0),
    };
    let headers = [(":method", "GET"), (":path", path), ("x-remote-user", user)];
    let headers = headers.map(|(name, value)| (name, value.as_bytes()));
    let request = MetricsRequest::parse(headers, Authorization::ApiServer).map_err(|answer| answer.status)?;
    is_delegated(&sources, &request).map_err(|error| error.to_reply(crate::encoding::Encoding::Json).status)
}

fn delegates(fallback: &str, path: &str) -> bool {
    delegation(&config(fallback), path, "alice").unwrap()
}

const BOTH: &str = r#"{"custom":{"cluster":"a"},"external":{"cluster":"b"}}"#;
const CUSTOM: &str = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop";
const EXTERNAL: &str = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop";

#[test]
fn metrics_that_we_do_not_serve_are_delegated() {
    for (path, is_delegated) in [
        (format!("{CUSTOM}/pods/*/http_requests"), true),
        (format!("{CUSTOM}/services/web/http_requests"), true),
        (format!("{CUSTOM}/metrics/http_requests"), true),
        ("/apis/custom.metrics.k8s.io/v1beta1/nodes/a/load".into(), true),
        (format!("{CUSTOM}/pods/*/burst_headroom"), false),
        (format!("{CUSTOM}/services/web/burst_headroom"), false),
        (format!("{EXTERNAL}/queue_length?labelSelector=a"), true),
        (format!("{EXTERNAL}/s0-rabbitmq/more"), true),
        (format!("{EXTERNAL}/BURST%7Cheadroom"), false),
        (format!("{EXTERNAL}/burst/headroom"), false),
        (format!("{EXTERNAL}/burst_no_such"), true),
        (format!("{CUSTOM}/pods"), false),
        ("/apis/custom.metrics.k8s.io/v1beta2".into(), false),
        ("/openapi/v2".into(), false),
        ("/apis/apps/v1/namespaces/a/deployments".into(), false),
    ] {
        assert_eq!(delegates(BOTH, &path), is_delegated, "{path}");
    }
}

#[test]
fn each_group_has_its_own_adapter_or_none() {
    let one = r#"{"external":{"cluster":"keda"}}"#;
    assert!(delegates(one, &format!("{EXTERNAL}/queue_length")));
    assert!(!delegates(one, &format!("{CUSTOM}/pods/*/http_requests")));
    assert!(!delegates("{}", &format!("{EXTERNAL}/queue_length")));
    let config = config(one);
    let adapters: Vec<_> = adapters(config.metrics_apis.as_ref().unwrap())
        .map(|(api, adapter)| (resource_list_path(api), adapter.cluster.clone()))
        .collect();
    assert_eq!(
        adapters,
        [("/apis/external.metrics.k8s.io/v1beta1".into(), "keda".into())]
    );
}

#[test]
fn a_request_that_cannot_be_parsed_is_not_delegated() {
    let config = config(BOTH);
    assert_eq!(delegation(&config, &format!("{EXTERNAL}/queue_length"), " "), Err(401));
    assert_eq!(delegation(&config, "/%ff", "alice"), Err(400));
}

#[test]
fn policies_protect_the_metrics_of_another_adapter() {
    let policies = r#"[{"name":"p","rules":[
        {"metric":"queue_.*","selector":{"matchLabels":{"queue":"a"}}},{"metric":".*","deny":true}]}]"#;
    let json = format!(
        r#"{{"cluster":"k","metrics_apis":{{"filter_chain":"m","fallback":{BOTH},"policies":{{"given":{policies}}}}}}}"#
    );
    let config = Config::parse(json.as_bytes(), Artifact::Full).unwrap();
    for (path, expected) in [
        (format!("{EXTERNAL}/queue_length?labelSelector=queue%3Da"), Ok(true)),
        (format!("{EXTERNAL}/queue_length"), Err(403)),
        (format!("{EXTERNAL}/Queue_Length?labelSelector=queue"), Err(403)),
        (format!("{EXTERNAL}/other?labelSelector=queue%3Da"), Err(403)),
        (format!("{EXTERNAL}/queue_length?labelSelector=a%3D%3D%3Db"), Err(400)),
        (
            format!("{EXTERNAL}/../other/queue_length?labelSelector=queue%3Da"),
            Ok(false),
        ),
        (
            format!("{EXTERNAL}/queue_length%2F..%2Fother?labelSelector=queue%3Da"),
            Ok(false),
        ),
        (format!("{EXTERNAL}/burst_headroom"), Ok(false)),
        (format!("{CUSTOM}/pods/*/requests"), Ok(true)),
    ] {
        assert_eq!(delegation(&config, &path, "alice"), expected, "{path}");
    }
}
