//! Kubernetes' own decoders read the same object from each format of an answer, and its own server would have chosen the
//! same format.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use burst_kube::name::ObjectName;
use burst_metrics_api::adapters::AdapterResources;
use burst_metrics_api::{MetricSources, MetricsRequest, RoutedRequest, serve};
use burst_model::config::{Artifact, Authorization, Config};
use burst_model::index::{Row, Table};
use burst_model::load::Load;
use burst_model::policies::EffectivePolicies;
use burst_model::records::Confirmed;
use burst_model::request_rates::Rates;
use burst_model::serve::{LocalReply, ServingCache};
use burst_model::signals::Signals;
use burst_model::snapshot;
use burst_model::time::Time;
use burst_testkit::{oracle, seed};
use fastrand::Rng;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

const CONFIG: &str =
    r#"{"cluster":"k","metrics_apis":{"filter_chain":"m","labels":{"zone":"0x1F","on":"yes","n":"1e3","empty":""}}}"#;
const READ_AT: Time = Time::from_unix_millis(1_700_000_000_123);

struct Server {
    config: Config,
    cache: ServingCache,
}

impl Server {
    /// A server that has read a random cluster.
    fn new(rng: &mut Rng) -> Self {
        let config = Config::parse(CONFIG.as_bytes(), Artifact::Full).unwrap();
        let mut cache = ServingCache::default();
        cache.take(snapshot::write(&cluster(rng), 1)).unwrap();
        let confirmed = Confirmed {
            generation: 1,
            lists: vec![Some(READ_AT)],
        };
        cache.refresh(&config, Some(&confirmed), READ_AT);
        Self { config, cache }
    }

    fn answer(&self, path: &str, accept: &str) -> LocalReply {
        let headers = [
            (":method", "GET"),
            (":path", path),
            ("accept", accept),
            ("x-remote-user", "alice"),
        ];
        let headers = headers.map(|(name, value)| (name, value.as_bytes()));
        let request = MetricsRequest::parse(headers, Authorization::ApiServer).unwrap();
        let sources = MetricSources {
            config: &self.config,
            apis: self.config.metrics_apis.as_ref().unwrap(),
            cache: &self.cache,
            rates: &Rates::default(),
            adapter_resources: &AdapterResources::default(),
            policies: &EffectivePolicies::default(),
            now: READ_AT.after(Duration::from_secs(5)),
        };
        match serve(&sources, &request) {
            RoutedRequest::Answered(response) => response.answer,
            RoutedRequest::Delegated => panic!("{path} was delegated"),
        }
    }
}

fn cluster(rng: &mut Rng) -> Table {
    let mut section = |name: &str, labels: &[&str]| {
        let rows = (0..rng.usize(0..6)).map(|index| {
            let [current, target, max] = [rng.u32(..), rng.u32(..5), rng.u32(..)];
            let object = ObjectName::parse(&format!("shop/o{index}")).unwrap();
            Row {
                name: object.clone(),
                label: object,
                load: Load { current, target, max },
                signals: Signals::default(),
                labels: rng.choice(labels).copied().unwrap_or_default().into(),
            }
        });
        (name.to_owned(), rows.collect())
    };
    Table::from([
        section(":series", &["deployment=api,service=web", "statefulset=a"]),
        section("deployments", &["tier=front", ""]),
        section("hpas", &[""]),
        section("services", &["tier=front", "tier=back,on=yes"]),
        section("statefulsets", &[""]),
    ])
}

fn content_type(reply: &LocalReply) -> &str {
    let mut headers = reply.headers.iter();
    let header = headers.find(|(name, _)| *name == "content-type");
    header.map(|(_, value)| value.as_str()).unwrap_or_default()
}

fn ask(questions: &[Value]) -> Vec<Value> {
    let lines: Vec<_> = questions.iter().map(Value::to_string).collect();
    let answers = oracle::ask("formats", &[], &lines);
    answers.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const GROUPS: &str = "/apis";
const AGGREGATED: &str = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const TABLE: &str = ";as=Table;v=v1;g=meta.k8s.io";
const CUSTOM: &str = "/apis/custom.metrics.k8s.io";
const EXTERNAL: &str = "/apis/external.metrics.k8s.io";

fn values_path(rng: &mut Rng) -> String {
    let metric = rng
        .choice([
            "burst_headroom",
            "burst_utilization",
            "burst_max_load",
            "no",
            "%3Cb%3E%26%22%E2%80%A8:%20%0A-%20x%23",
        ])
        .unwrap_or_default();
    if rng.u8(..4) == 0 {
        return format!("{EXTERNAL}/v1beta1/namespaces/shop/{metric}");
    }
    let version = rng.choice(["v1beta1", "v1beta2"]).unwrap_or_default();
    let object = rng
        .choice([
            "services/o1",
            "services/*",
            "deployments.apps/*",
            "horizontalpodautoscalers.autoscaling/o0",
            "metrics",
            "nodes/*",
        ])
        .unwrap_or_default();
    let query = rng
        .choice([
            "",
            "?labelSelector=tier%3Dfront",
            "?metricLabelSelector=n%3D1e3,on+in+(yes,no),!x",
            "?labelSelector=%3D",
        ])
        .unwrap_or_default();
    format!("{CUSTOM}/{version}/namespaces/shop/{object}/{metric}{query}")
}

/// Protobuf has no empty lists: Go reads them as nil.
fn remove_empty_lists(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null() && field.as_array().is_none_or(|items| !items.is_empty()));
            fields.values_mut().for_each(remove_empty_lists);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_empty_lists),
        _ => {}
    }
}

#[test]
fn each_format_has_the_same_object() {
    let mut rng = Rng::with_seed(seed());
    let mut requests: Vec<(String, &str)> = vec![
        (GROUPS.to_owned(), ""),
        (GROUPS.to_owned(), AGGREGATED),
        (CUSTOM.to_owned(), ""),
        (EXTERNAL.to_owned(), ""),
        (format!("{CUSTOM}/v1beta2"), ""),
        (format!("{EXTERNAL}/v1beta1"), ""),
        (format!("{EXTERNAL}/v1beta1/namespaces/shop/burst_headroom"), TABLE),
        (
            format!("{CUSTOM}/v1beta2/namespaces/shop/services/*/burst_headroom"),
            TABLE,
        ),
    ];
    requests.extend((0..2_000).map(|_| (values_path(&mut rng), "")));
    let (mut questions, mut sources) = (Vec::new(), Vec::new());
    for (path, transform) in &requests {
        let server = Server::new(&mut rng);
        for media_type in [
            "application/json",
            "application/yaml",
            "application/vnd.kubernetes.protobuf",
        ] {
            if *transform == TABLE && media_type.ends_with("protobuf") {
                continue;
            }
            let reply = server.answer(path, &format!("{media_type}{transform}"));
            assert!(content_type(&reply).starts_with(media_type), "{path}: {reply:?}");
            questions.push(json!({"contentType": media_type, "body": STANDARD.encode(&reply.body)}));
            let json =
                (media_type == "application/json").then(|| serde_json::from_slice::<Value>(&reply.body).unwrap());
            sources.push((format!("{path} {media_type}"), reply.status, json));
        }
    }
    let mut of_json = Value::Null;
    let mut statuses = BTreeMap::<u16, u32>::new();
    for (mut answer, (source, status, json)) in ask(&questions).into_iter().zip(sources) {
        *statuses.entry(status).or_default() += 1;
        assert_eq!(answer["error"], Value::Null, "{source}");
        remove_empty_lists(&mut answer);
        if let Some(json) = json {
            of_json = answer["object"].clone();
            assert_eq!(of_json["kind"], json["kind"], "{source}");
            let items = |object: &Value| object["items"].as_array().map_or(0, Vec::len);
            assert_eq!(items(&of_json), items(&json), "{source}");
        }
        assert!(answer["object"] == of_json, "{source}: {}\n{of_json}", answer["object"]);
    }
    // Objects and errors were compared.
    assert!(
        statuses[&200] > 1_000 && statuses[&404] > 100 && statuses[&400] > 100,
        "{statuses:?}"
    );
}

#[test]
fn the_format_is_the_one_that_kube_apiserver_would_choose() {
    let mut rng = Rng::with_seed(seed());
    let server = Server::new(&mut rng);
    let values = format!("{CUSTOM}/v1beta2/namespaces/shop/services/*/burst_headroom");
    let (mut questions, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..20_000 {
        let accept = accept_header(&mut rng);
        let (path, transforms) = if rng.bool() {
            (values.as_str(), "Table")
        } else {
            (GROUPS, "APIGroupDiscoveryList")
        };
        let reply = server.answer(path, &accept);
        questions.push(json!({"accept": accept, "transforms": [transforms]}));
        ours.push(chosen(&reply));
    }
    for ((question, theirs), ours) in questions.iter().zip(ask(&questions)).zip(ours) {
        let theirs = theirs["mediaType"].as_str().map(|media_type| {
            (
                media_type.to_owned(),
                theirs["transform"].as_str().unwrap_or_default().to_owned(),
            )
        });
        assert_eq!(ours, theirs, "{question}");
    }
}

/// The media type of an answer and the kind in place of the endpoint's own. `None` for 406.
fn chosen(reply: &LocalReply) -> Option<(String, String)> {
    if reply.status == 406 {
        return None;
    }
    let media_type = content_type(reply).split(';').next().unwrap_or_default();
    let body = String::from_utf8_lossy(&reply.body);
    let mut kinds = ["Table", "APIGroupDiscoveryList"].into_iter();
    let is_of = |kind: &str| {
        body.contains(&format!("\"kind\":\"{kind}\""))
            || body.contains(&format!("kind: {kind}\n"))
            || body.contains(&format!(
                "\u{12}{}{kind}",
                char::from(u8::try_from(kind.len()).unwrap())
            ))
    };
    let transform = kinds.find(|kind| is_of(kind)).unwrap_or_default();
    Some((media_type.to_owned(), transform.to_owned()))
}

fn accept_header(rng: &mut Rng) -> String {
    let types = [
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "application/*",
        "*/*",
        "*",
        "text/html",
        "application",
        "application/",
        "a/b/c",
        "application/json/",
        "APPLICATION/JSON",
        " application / json ",
        "*/json",
        "",
    ];
    let parameters = [
        "q=0.5",
        "q=0.9",
        "q=1",
        "q=0",
        "q=",
        "q",
        "q=x",
        "q= 0.5",
        "q=0.25",
        "q=1.000",
        "charset=utf-8",
        "as=Table",
        "v=v1",
        "v=v2",
        "g=meta.k8s.io",
        "g=apidiscovery.k8s.io",
        "as=APIGroupDiscoveryList",
        " as=Table ",
        "as=Table=",
        "a=b=c",
    ];
    let whole = [
        TABLE,
        AGGREGATED,
        ";as=Table;v=v1beta1;g=meta.k8s.io",
        ";g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
    ];
    let ranges: Vec<_> = (0..rng.usize(0..6))
        .map(|_| {
            let mut range = rng.choice(types).unwrap_or_default().to_owned();
            if rng.u8(..3) == 0 {
                range += rng.choice(whole).unwrap_or_default();
            }
            for _ in 0..rng.usize(0..3) {
                range = format!("{range};{}", rng.choice(parameters).unwrap_or_default());
            }
            range
        })
        .collect();
    ranges.join([",", ", "][rng.usize(..2)])
}
