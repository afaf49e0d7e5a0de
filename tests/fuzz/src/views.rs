//! Requests that the filter answers itself.

use crate::leader::T0;
use burst_metrics_api::adapters::AdapterResources;
use burst_metrics_api::{MetricSources, MetricsRequest, RoutedRequest};
use burst_model::config::{Artifact, Config};
use burst_model::index::{Row, Table};
use burst_model::load::Load;
use burst_model::name::ObjectName;
use burst_model::policies::EffectivePolicies;
use burst_model::records::Confirmed;
use burst_model::request_rates::Rates;
use burst_model::serve::{LocalReply, ServingCache, burst};
use burst_model::signals::{ScalingState, Signals};
use burst_model::snapshot;
use serde_json::Value;

const CONFIG: &[u8] = br#"{"cluster":"k","clusters":[{"name":"{service}.{namespace}"}],
    "endpoints":{"extra_fields":["ready","demand","state"]},
    "metrics_apis":{"filter_chain":"metrics","labels":{"cluster":"east"}}}"#;

fn config() -> Config {
    Config::parse(CONFIG, Artifact::Full).expect("a configuration")
}

/// The serving cache of a proxy that has just read these bytes.
fn serving_cache(config: &Config, snapshot: Vec<u8>) -> ServingCache {
    let mut serving_cache = ServingCache::default();
    serving_cache.take(snapshot).expect("a snapshot");
    let confirmed = Confirmed {
        generation: 1,
        lists: vec![Some(T0)],
    };
    serving_cache.refresh(config, Some(&confirmed), T0);
    serving_cache
}

/// The snapshot of a small cluster.
fn small_snapshot() -> Vec<u8> {
    let row = |name: &str, labels: &str| Row {
        name: ObjectName::parse(name).expect("a name"),
        label: ObjectName::parse(name).expect("a name"),
        load: Load {
            current: 1,
            target: 4,
            max: 5,
        },
        signals: Signals {
            ready: Some(1),
            demand: Some(7),
            state: Some(ScalingState::Limited),
        },
        labels: labels.into(),
    };
    let table = Table::from([
        (":series".into(), vec![row("shop/web", "deployment=web,service=web")]),
        ("deployments".into(), vec![row("shop/web", "tier=front,level=3")]),
        ("hpas".into(), vec![row("shop/web", "")]),
        (
            "services".into(),
            vec![row("shop/api", "tier=back"), row("shop/web", "tier=front")],
        ),
    ]);
    snapshot::write(&table, 1)
}

/// Parses the path after the endpoints' prefix. Returns whether the path is valid for the snapshot.
pub(crate) fn path(bytes: &[u8]) -> bool {
    let config = config();
    let mut empty = ServingCache::default();
    let mut full = serving_cache(&config, small_snapshot());
    let found = burst(&config, &mut full, bytes, bytes);
    let unknown = burst(&config, &mut empty, bytes, bytes);
    if let (Some(found), Some(unknown)) = (&found, &unknown) {
        assert!(
            [200, 204, 304, 400, 404, 414].contains(&found.status),
            "{}",
            found.status
        );
        assert!([400, 404, 414, 503].contains(&unknown.status), "{}", unknown.status);
    }
    unknown.is_some_and(|answer| answer.status == 503)
}

fn burst(config: &Config, serving_cache: &mut ServingCache, path: &[u8], header: &[u8]) -> Option<LocalReply> {
    let endpoints = config.endpoints.as_ref().expect("endpoints");
    let path = [endpoints.prefix.as_bytes(), path].concat();
    let request = burst::BurstRequest {
        method: b"GET",
        path: &path,
        host: header,
        accept: Some(header),
        if_none_match: Some(header),
        now: T0,
    };
    match burst::answer(config, endpoints, serving_cache, request)? {
        burst::BurstReply::Now(reply) => Some(reply),
        burst::BurstReply::Waiting(waiting) => {
            assert!(
                waiting.answer(config, serving_cache, T0).is_none(),
                "nothing has changed"
            );
            waiting.answer(config, serving_cache, waiting.end())
        }
    }
}

/// Parses a request to the metrics APIs: lines with its path, `accept` and user. It is valid if the answer is 200.
pub(crate) fn metrics(bytes: &[u8]) -> bool {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let (path, accept, user) = (lines.next(), lines.next(), lines.next());
    let headers = [
        (":method", &b"GET"[..]),
        (":path", path.unwrap_or_default()),
        ("accept", accept.unwrap_or(b"application/json")),
        ("if-none-match", accept.unwrap_or_default()),
        ("x-remote-user", user.unwrap_or(b"system:kube-aggregator")),
    ];
    let config = config();
    let statuses = [ServingCache::default(), serving_cache(&config, small_snapshot())]
        .map(|serving_cache| metrics_status(&config, &serving_cache, headers));
    statuses.contains(&200)
}

fn metrics_answer<'a>(
    config: &Config,
    serving_cache: &ServingCache,
    headers: impl IntoIterator<Item = (&'a str, &'a [u8])>,
) -> LocalReply {
    let apis = config.metrics_apis.as_ref().expect("metrics APIs");
    let request = match MetricsRequest::parse(headers, apis.authorization) {
        Ok(request) => request,
        Err(answer) => return answer,
    };
    let sources = MetricSources {
        config,
        apis,
        cache: serving_cache,
        rates: &Rates::default(),
        adapter_resources: &AdapterResources::default(),
        policies: &EffectivePolicies::default(),
        now: T0,
    };
    match burst_metrics_api::serve(&sources, &request) {
        RoutedRequest::Answered(response) => response.answer,
        RoutedRequest::Delegated => unreachable!("there is no other adapter"),
    }
}

fn metrics_status<'a>(
    config: &Config,
    serving_cache: &ServingCache,
    headers: impl IntoIterator<Item = (&'a str, &'a [u8])>,
) -> u16 {
    let answer = metrics_answer(config, serving_cache, headers);
    let allowed = [200, 304, 400, 401, 404, 405, 406, 414, 503];
    assert!(allowed.contains(&answer.status), "{}", answer.status);
    let is_json = |(name, value): &(&str, String)| *name == "content-type" && value.contains("json");
    if answer.headers.iter().any(is_json) && !answer.body.is_empty() {
        let body = serde_json::from_slice::<Value>(&answer.body);
        assert!(body.is_ok(), "the body is not JSON");
    }
    answer.status
}

/// Requests everything in a snapshot.
pub(crate) fn serve_all(snapshot: &[u8]) {
    let config = config();
    let mut serving_cache = serving_cache(&config, snapshot.to_vec());
    for path in [
        "/services",
        "/hpas/",
        "/deployments",
        "/services/shop/web",
        "/statefulsets/a/b",
    ] {
        let _ = burst(&config, &mut serving_cache, path.as_bytes(), b"proxy.test");
    }
    for cluster in ["web.shop", "outbound|80||web.shop.svc.cluster.local", "elsewhere"] {
        let _ = serving_cache.header(&config, cluster.as_bytes(), &());
    }
    let custom = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/services/*/burst_current";
    let external = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/burst_current?labelSelector=service%3Dweb";
    for path in [custom, external] {
        let headers = [
            (":method", &b"GET"[..]),
            (":path", path.as_bytes()),
            ("accept", b"application/json"),
            ("x-remote-user", b"system:kube-aggregator"),
        ];
        let _ = metrics_answer(&config, &serving_cache, headers);
    }
}
