use super::super::picture::tests::{T0, config, confirmed};
use super::*;
use crate::index::{Row, Table};
use crate::load::Load;
use crate::name::ObjectName;
use crate::rates::{Counting, Rate, Scope, Shares};
use crate::snapshot;
use serde_json::Value;
use std::collections::BTreeMap;

const CONFIG: &str = r#","metrics_apis":{"filter_chain":"metrics","labels":{"cluster":"east"}}"#;
const CUSTOM: &str = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop";
const EXTERNAL: &str = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop";

/// A proxy's knowledge, and its configuration.
struct World {
    config: Config,
    picture: Picture,
    rates: Rates,
    offers: others::Offers,
    enforced: EffectivePolicies,
    now: Time,
}

impl World {
    /// One that has read nothing.
    fn empty() -> Self {
        let mut config = config(CONFIG);
        let counting = Counting {
            scope: Scope::Cluster,
            in_flight: true,
        };
        config.metrics_apis.as_mut().unwrap().counting = Some(counting);
        Self {
            config,
            picture: Picture::default(),
            rates: Rates::default(),
            offers: others::Offers::default(),
            enforced: EffectivePolicies::default(),
            now: T0.after(Duration::from_secs(5)),
        }
    }

    /// One that knows a small cluster since `T0`, and its requests.
    fn known() -> Self {
        let mut world = Self::empty();
        world.picture.take(snapshot::write(&table(), 1)).unwrap();
        world.picture.look(&world.config, Some(&confirmed(T0)), T0);
        let rate = |requests_milli, rejected_milli, in_flight| Rate {
            requests_milli,
            rejected_milli,
            in_flight_milli: Some(in_flight),
        };
        let services = [
            ("shop/web", rate(12_500, 500, 3_000)),
            ("shop/stranger", rate(1_000, 0, 0)),
        ];
        world.rates = Rates::Known(Shares {
            as_of: T0.after(Duration::from_secs(2)),
            window: Duration::from_secs(30),
            services: services.map(|(name, rate)| (name.to_owned(), rate)).into(),
        });
        world
    }

    fn apis(&self) -> &MetricsApisConfig {
        self.config.metrics_apis.as_ref().unwrap()
    }

    fn count(&mut self, counting: Option<Counting>) {
        self.config.metrics_apis.as_mut().unwrap().counting = counting;
    }

    fn sources(&self) -> Sources<'_> {
        Sources {
            picture: &self.picture,
            rates: &self.rates,
            offers: &self.offers,
            enforced: &self.enforced,
            now: self.now,
        }
    }

    fn reply(&self, request: Request<'_>) -> Reply {
        answer(&self.config, self.apis(), self.sources(), request)
    }

    /// Status and body.
    fn ask(&self, request: Request<'_>) -> (u16, String) {
        let Answer { status, body, .. } = self.reply(request).answer;
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    fn json(&self, path: &str) -> Value {
        let (status, body) = self.ask(get(path));
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
                Some(of) => labels(&serde_json::from_value(of.clone()).unwrap()),
                None => text(&item["describedObject"]["name"]),
            };
            format!("{name} {}", text(&item["value"]))
        };
        self.json(path)["items"].as_array().unwrap().iter().map(item).collect()
    }

    /// Status, reason and message of a refusal.
    fn refusal(&self, request: Request<'_>) -> (u16, String, String) {
        let (status, body) = self.ask(request);
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

/// Requests to these Services, one a second to each.
fn requests(services: &[&str]) -> Rates {
    let rate = Rate {
        requests_milli: 1_000,
        ..Rate::default()
    };
    Rates::Known(Shares {
        as_of: T0,
        window: Duration::from_secs(30),
        services: services.iter().map(|name| ((*name).to_owned(), rate)).collect(),
    })
}

fn table() -> Table {
    let row = |of: &str, label: &str, labels: &str, [current, target, max]: [u32; 3]| Row {
        of: ObjectName::parse(of).unwrap(),
        label: ObjectName::parse(label).unwrap(),
        load: Load { current, target, max },
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

fn get(path: &str) -> Request<'_> {
    Request {
        method: b"GET",
        path: path.as_bytes(),
        accept: b"application/json",
        if_none_match: b"",
        user: b"system:kube-aggregator",
        groups: &[],
    }
}

mod any;
mod custom;
mod documents;
mod external;
mod kinds;
mod permission;
mod refusals;
mod table;
