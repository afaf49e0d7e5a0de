use super::*;
use crate::adapters::AdapterResources;
use burst_kube::name::ObjectName;
use burst_model::config::{Artifact, Authorization, Config, MetricsApisConfig};
use burst_model::index::{Row, Table};
use burst_model::load::Load;
use burst_model::policies::EffectivePolicies;
use burst_model::records::Confirmed;
use burst_model::request_rates::{CountingSettings, RateScope, RateSums, Rates, ServiceRate};
use burst_model::serve::{LocalReply, ServingCache};
use burst_model::signals::Signals;
use burst_model::snapshot;
use burst_model::time::Time;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

const CONFIG: &str = r#","metrics_apis":{"filter_chain":"metrics","labels":{"cluster":"east"}}"#;
const CUSTOM: &str = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop";
const EXTERNAL: &str = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop";

const T0: Time = Time::from_unix_millis(1_700_000_000_000);

fn config(more: &str) -> Config {
    let json = format!(r#"{{"cluster":"k","clusters":[{{"name":"{{service}}.{{namespace}}"}}]{more}}}"#);
    Config::parse(json.as_bytes(), Artifact::Full).unwrap()
}

fn confirmed(at: Time) -> Confirmed {
    Confirmed {
        generation: 1,
        lists: vec![Some(at)],
    }
}

/// The data that a proxy answers from.
struct TestServer {
    config: Config,
    cache: ServingCache,
    rates: Rates,
    adapter_resources: AdapterResources,
    policies: EffectivePolicies,
    now: Time,
}

/// The headers of a request. Empty ones are sent as they are.
#[derive(Clone, Copy, Debug)]
struct TestRequest<'a> {
    method: &'a [u8],
    path: &'a [u8],
    accept: &'a [u8],
    if_none_match: &'a [u8],
    user: &'a [u8],
    groups: &'a [&'a str],
}

impl TestRequest<'_> {
    fn parse(self, authorization: Authorization) -> Result<MetricsRequest, LocalReply> {
        let mut headers = vec![
            (":method", self.method),
            (":path", self.path),
            ("accept", self.accept),
            ("if-none-match", self.if_none_match),
            ("x-remote-user", self.user),
        ];
        headers.extend(self.groups.iter().map(|group| ("x-remote-group", group.as_bytes())));
        MetricsRequest::parse(headers, authorization)
    }
}

impl TestServer {
    /// A proxy that has not read the cluster yet.
    fn unsynced() -> Self {
        let mut config = config(CONFIG);
        let counting = CountingSettings {
            scope: RateScope::Cluster,
            in_flight: true,
            pods: false,
        };
        config.metrics_apis.as_mut().unwrap().counting = Some(counting);
        Self {
            config,
            cache: ServingCache::default(),
            rates: Rates::default(),
            adapter_resources: AdapterResources::default(),
            policies: EffectivePolicies::default(),
            now: T0.after(Duration::from_secs(5)),
        }
    }

    /// A proxy that read a small cluster at `T0`, and counts its requests.
    fn synced() -> Self {
        let mut server = Self::unsynced();
        server.cache.take(snapshot::write(&table(), 1)).unwrap();
        server.cache.refresh(&server.config, Some(&confirmed(T0)), T0);
        let rate = |requests_milli, rejected_milli, in_flight| ServiceRate {
            requests_milli,
            rejected_milli,
            in_flight_milli: Some(in_flight),
        };
        let services = [
            ("shop/web", rate(12_500, 500, 3_000)),
            ("shop/stranger", rate(1_000, 0, 0)),
        ];
        server.rates = Rates::Known(RateSums {
            as_of: T0.after(Duration::from_secs(2)),
            window: Duration::from_secs(30),
            services: services.map(|(name, rate)| (name.to_owned(), rate)).into(),
            addresses: None,
        });
        server
    }

    fn apis(&self) -> &MetricsApisConfig {
        self.config.metrics_apis.as_ref().unwrap()
    }

    fn set_counting(&mut self, counting: Option<CountingSettings>) {
        self.config.metrics_apis.as_mut().unwrap().counting = counting;
    }

    fn sources(&self) -> MetricSources<'_> {
        MetricSources {
            config: &self.config,
            apis: self.apis(),
            cache: &self.cache,
            rates: &self.rates,
            adapter_resources: &self.adapter_resources,
            policies: &self.policies,
            now: self.now,
        }
    }

    fn route(&self, request: TestRequest<'_>) -> RoutedRequest {
        match request.parse(self.apis().authorization) {
            Ok(request) => serve(&self.sources(), &request),
            Err(answer) => RoutedRequest::Answered(answer.into()),
        }
    }

    fn response(&self, request: TestRequest<'_>) -> MetricsResponse {
        match self.route(request) {
            RoutedRequest::Answered(response) => response,
            RoutedRequest::Delegated => panic!("{request:?} was delegated"),
        }
    }

    fn status_and_body(&self, request: TestRequest<'_>) -> (u16, String) {
        let LocalReply { status, body, .. } = self.response(request).answer;
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    fn json(&self, path: &str) -> Value {
        let (status, body) = self.status_and_body(get(path));
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    /// The items, as `name value`, or `labels value`.
    fn items(&self, path: &str) -> Vec<String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let labels = |labels: &BTreeMap<String, String>| {
            let all: Vec<_> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
            all.join(",")
        };
        let item = |item: &Value| {
            let name = match item.get("metricLabels") {
                Some(object) => labels(&serde_json::from_value(object.clone()).unwrap()),
                None => text(&item["describedObject"]["name"]),
            };
            format!("{name} {}", text(&item["value"]))
        };
        self.json(path)["items"].as_array().unwrap().iter().map(item).collect()
    }

    /// The status, reason and message of an error.
    fn error(&self, request: TestRequest<'_>) -> (u16, String, String) {
        let (status, body) = self.status_and_body(request);
        let json: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(
            (&json["kind"], &json["code"]),
            (&"Status".into(), &status.into()),
            "{body}"
        );
        let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
        (status, text("reason"), text("message"))
    }
}

/// One request a second to each of these Services.
fn requests(services: &[&str]) -> Rates {
    let rate = ServiceRate {
        requests_milli: 1_000,
        ..ServiceRate::default()
    };
    Rates::Known(RateSums {
        as_of: T0,
        window: Duration::from_secs(30),
        services: services.iter().map(|name| ((*name).to_owned(), rate)).collect(),
        addresses: None,
    })
}

fn table() -> Table {
    let row = |name: &str, label: &str, labels: &str, [current, target, max]: [u32; 3]| Row {
        name: ObjectName::parse(name).unwrap(),
        label: ObjectName::parse(label).unwrap(),
        load: Load { current, target, max },
        signals: Signals::default(),
        labels: labels.into(),
    };
    let (web, queue) = ([1, 4, 5], [2000, 2400, 3000]);
    Table::from([
        (
            ":series".into(),
            vec![
                row("data/queue", "data/queue", "statefulset=queue", queue),
                row("odd/hpa", "odd/thing", "service=a,service=b", web),
                row("shop/api", "shop/api", "deployment=api", [3, 4, 5]),
                row("shop/web", "shop/web", "deployment=web,service=web,service=web-2", web),
            ],
        ),
        (
            "deployments".into(),
            vec![row("shop/web", "shop/web", "tier=front,level=3", web)],
        ),
        ("hpas".into(), vec![row("shop/web", "shop/web", "", web)]),
        (
            "services".into(),
            vec![
                row("data/queue", "data/queue", "", queue),
                row("shop/api", "shop/api", "tier=back", [3, 4, 5]),
                row("shop/web", "shop/web", "tier=front", web),
            ],
        ),
        ("statefulsets".into(), vec![]),
    ])
}

fn get(path: &str) -> TestRequest<'_> {
    TestRequest {
        method: b"GET",
        path: path.as_bytes(),
        accept: b"application/json",
        if_none_match: b"",
        user: b"system:kube-aggregator",
        groups: &[],
    }
}

mod aliases;
pub(crate) mod answer;
mod arbitrary;
mod custom;
mod discovery;
mod external;
mod kinds;
mod pods;
mod policy_check;
mod refusals;
mod table;
