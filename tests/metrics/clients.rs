//! The clients that users have: client-go's for both APIs, the HPA controller's, and kubectl.

use burst_testkit::{
    Controllers, Shared,
    metrics_apis::{Stage, shop},
    oracle,
};
use serde_json::{Value, json};

/// The content types that a client can be configured with. Each client must work with a JSON answer.
const CONTENT_TYPES: [&str; 3] = ["", "application/json", "application/vnd.kubernetes.protobuf"];

/// An empty version lets the client find the preferred one.
const VERSIONS: [&str; 3] = ["", "v1beta1", "v1beta2"];

const WEB: &str = "Deployment shop/web apps/v1";
const API: &str = "Deployment shop/api apps/v1";

/// No test here changes this cluster.
static SHARED_CLUSTER: Shared<Stage> = Shared::new();

/// A shop that the filter has read.
fn stage() -> Stage {
    let stage = Stage::start(Controllers::None);
    shop::create(&stage.cluster);
    shop::observe(&stage.cluster);
    stage.wait_for_the_shop();
    stage
}

/// Sends all questions with each content type, and checks that the answers are equal.
fn ask(stage: &Stage, questions: &[Value]) -> Vec<Value> {
    let lines: Vec<_> = questions.iter().map(Value::to_string).collect();
    let kubeconfig = stage.cluster.kubeconfig().display().to_string();
    let mut all = CONTENT_TYPES.map(|content_type| {
        let answers = oracle::ask("metrics", &[kubeconfig.clone(), content_type.to_owned()], &lines);
        let answers = answers.iter().map(|line| serde_json::from_str(line).expect("JSON"));
        answers.map(without_time).collect::<Vec<Value>>()
    });
    all.sort_by_key(|answers| format!("{answers:?}"));
    let [first, second, third] = all;
    assert!(first == second && second == third, "{first:#?}\n{third:#?}");
    first
}

/// Removes the time of each value, after checking that it is set. Also removes the details of a 503, in which the
/// aggregator names the place where a connection broke.
fn without_time(mut answer: Value) -> Value {
    if answer["error"]["code"] == 503 {
        answer["error"]["details"] = Value::Null;
    }
    for value in answer["values"].as_array_mut().into_iter().flatten() {
        let fields = value.as_object_mut().expect("a value");
        if let Some(time) = fields.remove("timestamp") {
            assert!(time.as_i64().is_some_and(|seconds| seconds > 1_700_000_000), "{time}");
        }
    }
    answer
}

/// The described object or the labels of each value, and the value.
fn values(answer: &Value) -> Vec<(&str, &str)> {
    let values = answer["values"].as_array().map(Vec::as_slice).unwrap_or_default();
    values
        .iter()
        .map(|value| {
            (
                value["of"].as_str().expect("text"),
                value["value"].as_str().expect("text"),
            )
        })
        .collect()
}

#[test]
fn every_client_finds_every_value() {
    let stage = SHARED_CLUSTER.get(stage);
    let custom = |kind: (&str, &str), name: &str, selector: &str, metric: &str| {
        json!({
            "client": "custom", "namespace": "shop", "apiVersion": kind.0, "kind": kind.1, "name": name,
            "selector": selector, "metric": metric,
        })
    };
    let deployment = ("apps/v1", "Deployment");
    let table: Vec<(Value, Vec<(&str, &str)>)> = vec![
        (custom(deployment, "web", "", "burst_current_load"), vec![(WEB, "1")]),
        (custom(deployment, "web", "", "burst_target_load"), vec![(WEB, "4")]),
        (custom(deployment, "web", "", "burst_max_load"), vec![(WEB, "5")]),
        (custom(deployment, "web", "", "burst_headroom"), vec![(WEB, "4")]),
        (custom(deployment, "web", "", "burst_utilization"), vec![(WEB, "200m")]),
        (
            custom(deployment, "", "", "burst_headroom"),
            vec![(API, "8"), (WEB, "4")],
        ),
        (
            custom(deployment, "", "tier in (front)", "burst_headroom"),
            vec![(WEB, "4")],
        ),
        (custom(deployment, "", "tier=front,app!=web", "burst_headroom"), vec![]),
        (
            custom(("v1", "Service"), "api", "", "burst_headroom"),
            vec![("Service shop/api v1", "8")],
        ),
        (
            custom(
                ("autoscaling/v2", "HorizontalPodAutoscaler"),
                "api",
                "",
                "burst_headroom",
            ),
            vec![("HorizontalPodAutoscaler shop/api autoscaling/v2", "8")],
        ),
        (
            json!({"client": "custom", "apiVersion": "v1", "kind": "Namespace", "name": "shop", "metric": "burst_headroom"}),
            vec![("Namespace /shop v1", "12")],
        ),
    ];
    let asked = |version: &str| {
        let ask = |(question, _): &(Value, Vec<_>)| {
            let mut question = question.clone();
            question["version"] = json!(version);
            question
        };
        table.iter().map(ask).collect::<Vec<_>>()
    };
    let questions: Vec<_> = VERSIONS.iter().flat_map(|version| asked(version)).collect();
    let answers = ask(&stage, &questions);
    for ((question, (_, expected)), answer) in questions.iter().zip(table.iter().cycle()).zip(&answers) {
        assert_eq!(answer.get("error"), None, "{question}");
        assert_eq!(&values(answer), expected, "{question}");
    }
}

/// The controller counts in thousandths, and wraps errors in its own text.
#[test]
fn external_metrics_and_the_hpa_controllers_own_client_get_the_same_numbers() {
    let stage = SHARED_CLUSTER.get(stage);
    let external = |metric: &str, selector: &str| json!({"client": "external", "namespace": "shop", "metric": metric, "metricSelector": selector});
    let hpa = |metric: &str, selector: &str| json!({"client": "hpa external", "namespace": "shop", "metric": metric, "metricSelector": selector});
    let object = |kind: &str, name: &str| {
        json!({
            "client": "hpa object", "namespace": "shop", "apiVersion": "v1", "kind": kind, "name": name,
            "metric": "burst_headroom",
        })
    };
    let table: Vec<(Value, Vec<&str>)> = vec![
        (external("burst_headroom", ""), vec!["8", "4"]),
        (external("burst_headroom", "service=web"), vec!["4"]),
        (
            external("burst_headroom", "deployment notin (web),namespace"),
            vec!["8"],
        ),
        (external("burst_headroom", "service=nobody"), vec![]),
        (external("Burst_Headroom", "hpa=api"), vec!["8"]),
        (external("burst|headroom", "hpa=api"), vec!["8"]),
        (external(r"burst\|headroom", "hpa=api"), vec!["8"]),
        (external("burst_utilization", "service=web"), vec!["200m"]),
        (hpa("burst_utilization", "service=web"), vec!["200"]),
        (hpa("burst_headroom", ""), vec!["8000", "4000"]),
        (object("Service", "web"), vec!["4000"]),
        // The HPA's own namespace is used, whatever name it gives.
        (object("Namespace", "kube-system"), vec!["12000"]),
    ];
    let questions: Vec<_> = table.iter().map(|(question, _)| question.clone()).collect();
    for ((question, expected), answer) in table.iter().zip(ask(&stage, &questions)) {
        let found: Vec<_> = values(&answer).into_iter().map(|(_, value)| value).collect();
        assert_eq!((&found, answer.get("error")), (expected, None), "{question}");
    }
}

#[test]
fn every_refusal_has_its_reason() {
    let stage = SHARED_CLUSTER.get(stage);
    let custom = |kind: &str, name: &str, metric: &str| {
        json!({
            "client": "custom", "namespace": "shop", "apiVersion": "v1", "kind": kind, "name": name, "metric": metric,
        })
    };
    let external = |metric: &str, selector: &str| json!({"client": "external", "namespace": "shop", "metric": metric, "metricSelector": selector});
    let terms = |count: usize| (0..count).map(|i| format!("k{i}=v")).collect::<Vec<_>>().join(",");
    let mut node = custom("Node", "one", "burst_headroom");
    node["namespace"] = json!("");
    let table = [
        (custom("Service", "web", "nothing"), 404, "NotFound"),
        (custom("Service", "nobody", "burst_headroom"), 404, "NotFound"),
        (custom("Service", "", "nothing"), 404, "NotFound"),
        (custom("Pod", "", "burst_headroom"), 404, "NotFound"),
        (custom("ConfigMap", "web", "burst_headroom"), 404, "NotFound"),
        (node, 404, "NotFound"),
        (external("nothing", ""), 404, "NotFound"),
        (external("burst_headroom", &terms(1_000)), 400, "BadRequest"),
        (external("burst_headroom", &terms(10_000)), 414, "RequestURITooLong"),
        (external("burst_headroom", &terms(60_000)), 414, "RequestURITooLong"),
        (external("nothing", ""), 404, "NotFound"),
    ];
    let questions: Vec<_> = table.iter().map(|(question, ..)| question.clone()).collect();
    for ((question, code, reason), answer) in table.iter().zip(ask(&stage, &questions)) {
        let error = &answer["error"];
        let asked: String = question.to_string().chars().take(200).collect();
        assert_eq!(
            (&error["code"], &error["reason"]),
            (&json!(code), &json!(reason)),
            "{asked}: {error}"
        );
    }
    refuses_what_kubectl_may_not_do(&stage);
}

fn refuses_what_kubectl_may_not_do(stage: &Stage) {
    let path = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/services/web/burst_headroom";
    let cluster = &stage.cluster;
    let forbidden = cluster.kubectl_refused(&["get", "--raw", path, "--as", "alice"], "");
    assert!(forbidden.starts_with("Error from server (Forbidden)"), "{forbidden}");
    let method = cluster.kubectl_refused(&["create", "--raw", path, "--filename=-"], "{}");
    assert!(method.starts_with("Error from server (MethodNotAllowed)"), "{method}");
    let table = cluster.kubectl(&["get", "burst_headroom.external.metrics.k8s.io", "--namespace", "shop"]);
    let mut lines = table.lines();
    let columns = lines.next().expect("a line of names");
    assert!(columns.contains("VALUE"), "{table}");
    assert_eq!(lines.count(), 2, "{table}");
}
