//! The examples of `filter-config/` for docs/signals.md, with the ports of a test.

use std::{collections::BTreeSet, fs};

use burst_lab::cluster::{DEPLOYMENTS, HPAS};
use burst_testkit::{
    Envoy, Version,
    filter::{Backend, NGSA_1, PATIENCE},
    http::{Answer, Request, ask},
    repository, wait, wasm,
};
use serde_json::{Value, json};

on_each_envoy!(
    each_format_of_the_shipped_example_has_its_answer,
    the_header_of_the_shipped_example_has_the_headroom_and_an_age_that_grows,
    the_shipped_example_says_what_the_hpa_wants_in_the_header_and_in_each_format,
);

/// The Service that takes the place of `shop/web`.
const SERVICE: &str = "default/ngsa-svc-1";

/// One of the examples that ship, before this backend.
pub(super) struct Example {
    pub(super) envoy: Envoy,
}

impl Example {
    #[track_caller]
    fn start(version: Version, file: &str, backend: &Backend) -> Self {
        Self::start_with(version, file, backend, &[])
    }

    /// The example with other texts in it, each for one that ships.
    #[track_caller]
    pub(super) fn start_with(version: Version, file: &str, backend: &Backend, changes: &[(&str, &str)]) -> Self {
        let more = changes.iter().map(|(ships, here)| (*ships, (*here).to_owned()));
        let path = repository().join("filter-config").join(file);
        let shipped = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let changes = [
            ("target/wasm/", format!("{}/", wasm("").display())),
            ("port_value: 8080}}", "port_value: 0}}\n      name: main".to_owned()),
            ("port_value: 8002", format!("port_value: {}", backend.upstream_port())),
            ("port_value: 8001", format!("port_value: {}", backend.kube_port())),
            ("\"shop/web\"", format!("\"{SERVICE}\"")),
        ];
        let bootstrap = changes.into_iter().chain(more).fold(shipped, |text, (ships, here)| {
            assert!(text.contains(ships), "`{ships}` is not in {file}");
            text.replace(ships, &here)
        });
        Self {
            envoy: Envoy::start(version, &bootstrap, 1),
        }
    }

    pub(super) fn ask(&self, host: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let url = format!("http://{}{path}", self.envoy.listener("main"));
        let request = Request::of("GET", &url).headers(headers).host(host);
        ask(&request).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// The answer of the endpoints.
    fn poll(&self, path: &str) -> Answer {
        self.ask("burst.internal", path, &[])
    }

    #[track_caller]
    fn wait_for(&self, path: &str, what: &str, mut fits: impl FnMut(&Answer) -> bool) {
        wait::for_ok(PATIENCE, what, || {
            let answer = self.poll(path);
            if fits(&answer) {
                Ok(())
            } else {
                Err(format!("{answer:?}"))
            }
        });
    }
}

/// The age in a header of the first service with that number of replicas; `None` if the header is another one.
fn age(answer: &Answer, current: u32) -> Option<u64> {
    let numbers = NGSA_1.replace("current-load=1", &format!("current-load={current}"));
    let before = format!("{numbers}, headroom={}, age=", 5 - current);
    let (age, _) = answer.header("x-burst")?.strip_prefix(&before)?.split_once(", ")?;
    age.parse().ok()
}

fn the_shipped_example_says_what_the_hpa_wants_in_the_header_and_in_each_format(version: Version) {
    let backend = Backend::sample();
    let example = Example::start(version, "16-header-extras.yaml", &backend);
    let wait_for_header = |end: &str| {
        example.wait_for("/", end, |answer| {
            answer.header("x-burst").is_some_and(|header| header.ends_with(end))
        });
    };
    // 64 % of a target of 70 %.
    wait_for_header(", ready=1, demand=1, state=ok");
    let seen = json!({"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 91}}});
    let conditions = json!([
        {"type": "AbleToScale", "status": "True", "reason": "ReadyForNewScale"},
        {"type": "ScalingActive", "status": "True", "reason": "ValidMetricFound"},
        {"type": "ScalingLimited", "status": "True", "reason": "TooManyReplicas"},
    ]);
    let status =
        json!({"currentReplicas": 5, "desiredReplicas": 5, "currentMetrics": [seen], "conditions": conditions});
    let patch = |resource, key, status: Value| {
        let patched = backend.cluster.patch(resource, key, &json!({"status": status}));
        patched.expect("the object");
    };
    patch(HPAS, "default/ngsa-hpa-1", status);
    patch(DEPLOYMENTS, "default/ngsa-1", json!({"readyReplicas": 3}));
    wait_for_header(", ready=3, demand=7, state=limited");

    let json = example.poll(&format!("/burstmetrics/services/{SERVICE}?format=json"));
    let load: Value = serde_json::from_str(&json.body).expect("JSON");
    let signals = ["max", "ready", "demand", "state"].map(|key| load[key].clone());
    assert_eq!(
        signals,
        [json!(5), json!(3), json!(7), json!("limited")],
        "{}",
        json.body
    );
    let prometheus = example.poll("/burstmetrics/services?format=prometheus").body;
    for sample in [
        "burst_ready_load{namespace=\"default\",service=\"ngsa-svc-1\"} 3",
        "burst_demand_load{namespace=\"default\",service=\"ngsa-svc-1\"} 7",
        "burst_state{namespace=\"default\",service=\"ngsa-svc-1\",state=\"limited\"} 1",
    ] {
        assert!(prometheus.lines().any(|line| line == sample), "{sample}: {prometheus}");
    }
    let text = example.poll(&format!("/burstmetrics/services/{SERVICE}"));
    assert_eq!(
        text.body,
        NGSA_1.replace("current-load=1", "current-load=5"),
        "the default has no signals"
    );
}

fn the_header_of_the_shipped_example_has_the_headroom_and_an_age_that_grows(version: Version) {
    let mut backend = Backend::sample();
    let example = Example::start(version, "16-header-extras.yaml", &backend);
    example.wait_for("/", "a recent read", |answer| {
        age(answer, 1).is_some_and(|age| age < 60)
    });
    backend.scale_ngsa_1(3);
    example.wait_for("/", "a lower headroom", |answer| age(answer, 3).is_some());
    backend.refuse_connections();
    let mut ages = BTreeSet::new();
    example.wait_for("/", "no header, as the snapshot is too old", |answer| {
        ages.extend(age(answer, 3));
        answer.header("x-burst").is_none()
    });
    let oldest = ages.last().copied();
    assert!(ages.len() > 1 && oldest <= Some(60), "max_staleness is 60 s: {ages:?}");
}

fn each_format_of_the_shipped_example_has_its_answer(version: Version) {
    let backend = Backend::sample();
    let example = Example::start(version, "15-formats.yaml", &backend);
    let one = |format: &str| format!("/burstmetrics/services/{SERVICE}?format={format}");
    example.wait_for(&one("weight"), "a weight", |answer| {
        (answer.status, answer.body.as_str()) == (200, "80")
    });

    let json = example.poll("/burstmetrics/services?format=json");
    assert_eq!(json.header("content-type"), Some("application/json; charset=utf-8"));
    let loads: Value = serde_json::from_str(&json.body).expect("JSON");
    let load = &loads[SERVICE];
    let wanted = json!({
        "service": "default/ngsa-1", "current": 1, "target": 4, "max": 5, "headroom": 4, "utilization": 0.2,
        "asOf": load["asOf"],
    });
    assert_eq!(*load, wanted);
    let tag = json.header("etag").expect("a tag");
    let again = example.ask(
        "burst.internal",
        "/burstmetrics/services?format=json",
        &[("if-none-match", tag)],
    );
    assert_eq!((again.status, again.body.as_str()), (304, ""));

    let prometheus = example.poll("/burstmetrics/services?format=prometheus");
    let content_type = "text/plain; version=0.0.4; charset=utf-8";
    assert_eq!(prometheus.header("content-type"), Some(content_type));
    let sample = "\nburst_headroom{namespace=\"default\",service=\"ngsa-svc-1\"} 4\n";
    assert!(prometheus.body.contains(sample), "{}", prometheus.body);

    let gtm = example.poll("/burstmetrics/services?format=gtm&domain=example.akadns.net&datacenter=east");
    assert_eq!(gtm.header("content-type"), Some("application/xml; charset=utf-8"));
    for part in [
        "<load-object domain=\"example.akadns.net\" timestamp=\"2",
        "<datacenter name=\"east\">",
        "<resource name=\"default/ngsa-svc-1\">",
    ] {
        assert!(gtm.body.contains(part), "{part}: {}", gtm.body);
    }

    let unknown = example.poll("/burstmetrics/services?format=yaml");
    assert_eq!(unknown.status, 400);
    let public = example.ask("shop.example.com", "/burstmetrics/services?format=json", &[]);
    assert_eq!(public.body, "hello\n", "another host gets what the upstream answers");

    backend.scale_ngsa_1(5);
    example.wait_for(&one("weight"), "the weight of a full service", |answer| {
        answer.body == "1"
    });
}
