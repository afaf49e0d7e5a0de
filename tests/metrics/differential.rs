//! Sends the same requests to this filter and to the library that every other adapter uses. The answers are equal, or
//! the table says why ours is better.

use burst_testkit::{
    Controllers,
    http::{Answer, Tls},
    metrics_apis::{SOON, Stage, adapter::Adapter, shop},
    network_namespace, wait,
};
use serde_json::{Value, json};

const USER: (&str, &str) = ("x-remote-user", "system:admin");
const GROUP: (&str, &str) = ("x-remote-group", "system:masters");

const METRICS: [&str; 2] = ["burst_current_load", "burst_headroom"];

/// How our answer compares with theirs.
#[derive(Clone, Copy, Debug)]
enum Expected {
    /// The same status and JSON, without the parts that [`comparable`] removes.
    Same,
    /// The same status. The bodies list different paths.
    Status,
    /// A different status, because theirs is wrong.
    Ours(u16, &'static str),
}
use Expected::{Ours, Same, Status};

const CUSTOM: [(&str, Expected); 37] = [
    ("namespaces/shop/deployments.apps/web/burst_current_load", Same),
    ("namespaces/shop/deployments.apps/api/burst_headroom", Same),
    ("namespaces/shop/deployments.apps/*/burst_headroom", Same),
    ("namespaces/shop/deployments.apps/%2A/burst_headroom", Same),
    ("namespaces/shop/deployment.apps/web/burst_headroom", Same),
    ("namespaces/shop/services/web/burst_headroom", Same),
    (
        "namespaces/shop/services/*/burst_headroom?labelSelector=tier%3Dfront",
        Same,
    ),
    (
        "namespaces/shop/services/*/burst_headroom?labelSelector=tier+in+%28front%2Cback%29%2Capp%21%3Dapi",
        Same,
    ),
    ("namespaces/shop/services/*/burst_headroom?labelSelector=%21tier", Same),
    (
        "namespaces/shop/services/*/burst_headroom?labelSelector=nobody%3Dhas",
        Same,
    ),
    ("namespaces/shop/services/*/burst_headroom?limit=1", Same),
    ("namespaces/shop/services/*/burst_headroom?limit=abc", Same),
    (
        "namespaces/shop/services/*/burst_headroom?labelSelector=a%3D%3D%3Db",
        Same,
    ),
    (
        "namespaces/shop/services/*/burst_headroom?labelSelector=a%3Db%2Fc",
        Same,
    ),
    ("namespaces/shop/services/*/burst_headroom?labelSelector=%3Db", Same),
    (
        "namespaces/shop/services/web/burst_headroom?fieldSelector=metadata.name%3Dweb",
        Same,
    ),
    (
        "namespaces/shop/services/web/burst_headroom?fieldSelector=metadata.name%3Dapi",
        Same,
    ),
    (
        "namespaces/shop/horizontalpodautoscalers.autoscaling/web/burst_headroom",
        Same,
    ),
    ("namespaces/shop/metrics/burst_headroom", Same),
    ("namespaces/*/metrics/burst_headroom", Same),
    ("namespaces/%2A/metrics/burst_current_load?limit=1", Same),
    (
        "namespaces/*/metrics/burst_headroom?labelSelector=kubernetes.io%2Fmetadata.name+in+%28shop%2Cdefault%29",
        Same,
    ),
    (
        "namespaces/*/metrics/burst_headroom?labelSelector=kubernetes.io%2Fmetadata.name%21%3Dshop",
        Same,
    ),
    (
        "namespaces/*/metrics/burst_headroom?labelSelector=tier%3Dfront",
        Ours(
            400,
            "the labels of namespaces are not known, and an empty list would say that they are",
        ),
    ),
    (
        "namespaces/*/metrics/no_such_metric",
        Ours(404, "an empty list hides a misspelt name"),
    ),
    ("namespaces/*/services/web/burst_headroom", Same),
    ("namespaces/*/services/*/burst_headroom", Same),
    ("namespaces/shop/namespaces/*/burst_headroom", Status),
    (
        "namespaces/*/burst_headroom",
        Ours(404, "every other path that is none is not found"),
    ),
    (
        "services/*/burst_headroom",
        Ours(404, "an empty list hides that they are asked for in their namespaces"),
    ),
    ("namespaces/shop/services/web/no_such_metric", Same),
    ("namespaces/shop/services/nobody/burst_headroom", Same),
    (
        "namespaces/shop/services/*/no_such_metric",
        Ours(404, "an empty list hides a misspelt name"),
    ),
    (
        "namespaces/shop/foos.bar/web/burst_headroom",
        Ours(404, "a 500 for what a user wrote"),
    ),
    (
        "namespaces/shop/services/web/burst_headroom?metricLabelSelector=a%3D%3D%3Db",
        Ours(400, "a 500 for what a user wrote"),
    ),
    ("namespaces/shop/services/web", Same),
    ("namespaces/shop/services/web/burst_headroom/more", Same),
];

const EXTERNAL: [(&str, Expected); 6] = [
    (
        "namespaces/shop/no_such_metric",
        Ours(404, "an empty list hides a misspelt name"),
    ),
    ("namespaces/shop/burst_headroom?labelSelector=a%3D%3D%3Db", Same),
    ("namespaces/shop/burst_headroom?labelSelector=service%3Dnobody", Same),
    ("namespaces/shop/burst_headroom?watch=true", Same),
    ("namespaces/*/burst_headroom", Same),
    ("burst_headroom", Same),
];

/// Paths that neither server serves.
const OUTSIDE: [&str; 2] = ["/apis/other.metrics.k8s.io/v1", "/no/such/path"];

/// All methods other than GET.
const METHODS: [&str; 5] = ["HEAD", "POST", "PUT", "PATCH", "DELETE"];

#[test]
fn answers_equal_those_of_other_adapters_except_where_the_table_says_why() {
    network_namespace::run(
        "differential::answers_equal_those_of_other_adapters_except_where_the_table_says_why",
        || {
            let pair = Pair::start();
            let differences: Vec<_> = questions()
                .into_iter()
                .filter_map(|(method, path, expected)| pair.difference(method, &path, expected))
                .collect();
            assert!(differences.is_empty(), "{}", differences.concat());
        },
    );
}

fn questions() -> Vec<(&'static str, String, Expected)> {
    let of = |api: &str, table: &[(&str, Expected)]| {
        let path = |(path, expected): &(&str, _)| ("GET", format!("/apis/{api}/{path}"), *expected);
        table.iter().map(path).collect::<Vec<_>>()
    };
    let metric = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/services/web/burst_headroom";
    [
        of("custom.metrics.k8s.io/v1beta1", &CUSTOM),
        of("custom.metrics.k8s.io/v1beta2", &CUSTOM),
        of("external.metrics.k8s.io/v1beta1", &EXTERNAL),
        METHODS.map(|method| (method, metric.to_owned(), Same)).into(),
        OUTSIDE.map(|path| ("GET", path.to_owned(), Status)).into(),
    ]
    .concat()
}

/// The two servers, with the same values.
struct Pair {
    stage: Stage,
    adapter: Adapter,
    client: Tls,
}

impl Pair {
    fn start() -> Self {
        let stage = Stage::start(Controllers::None);
        shop::create(&stage.cluster);
        shop::observe(&stage.cluster);
        let adapter = Adapter::start(&stage);
        for metric in METRICS {
            let headroom = metric == "burst_headroom";
            let mut sum = 0;
            for (name, current, max, _) in shop::SERVICES {
                let value = if headroom { max - current } else { current };
                sum += value;
                for resource in ["services", "deployments.apps", "horizontalpodautoscalers.autoscaling"] {
                    adapter.set_value(&format!("shop/{resource}/{name}"), metric, value);
                }
            }
            adapter.set_namespace_value(shop::NAMESPACE, metric, sum);
        }
        let certificate = stage.cluster.front_proxy().client("front-proxy-client", None);
        let client = stage.proxy.client(Some(&certificate));
        let pair = Self { stage, adapter, client };
        pair.stage.wait_for_the_shop();
        wait::for_ok(SOON, "their values", || {
            let path = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/services/*/burst_headroom";
            let [_, theirs] = pair.ask("GET", path);
            let told = theirs.body.matches("timestamp").count() == 2;
            told.then_some(()).ok_or(format!("{theirs:?}"))
        });
        pair
    }

    /// Our answer and theirs.
    fn ask(&self, method: &str, path: &str) -> [Answer; 2] {
        [self.stage.proxy.address, self.adapter.address].map(|address| {
            let url = format!("https://{address}{path}");
            let answer = self.client.try_send(method, &url, &[USER, GROUP]);
            answer.unwrap_or_else(|error| panic!("{method} {url}: {error}"))
        })
    }

    /// The unexpected difference between the two, if any.
    fn difference(&self, method: &str, path: &str, expected: Expected) -> Option<String> {
        let [ours, theirs] = self.ask(method, path);
        let holds = match expected {
            Same => ours.status == theirs.status && comparable(&ours) == comparable(&theirs),
            Status => ours.status == theirs.status,
            Ours(status, _) => ours.status == status && theirs.status != status,
        };
        let told = |answer: &Answer| format!("{} {}", answer.status, answer.body.trim_end());
        let why = match expected {
            Same => "the same",
            Status => "the same status",
            Ours(_, why) => why,
        };
        let (ours, theirs) = (told(&ours), told(&theirs));
        (!holds).then(|| format!("{method} {path}: {why}\n  ours   {ours}\n  theirs {theirs}\n"))
    }
}

/// The JSON of an answer, without the parts that always differ: the time and window of a value, and our additional
/// fields.
fn comparable(answer: &Answer) -> Value {
    if answer.body.is_empty() {
        return Value::Null;
    }
    let mut json: Value = serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {answer:?}"));
    for item in json["items"].as_array_mut().into_iter().flatten() {
        let fields = item.as_object_mut().expect("an item");
        assert!(fields.remove("timestamp").is_some_and(|time| time.is_string()));
        fields.remove("window");
        fields.remove("windowSeconds");
        // Theirs is `/v1` for the core group.
        if let Some(version) = item.pointer_mut("/describedObject/apiVersion")
            && *version == "/v1"
        {
            *version = json!("v1");
        }
    }
    if let Some(metadata) = json["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
    }
    if json["kind"] == "Status" {
        // Theirs has no details.
        json.as_object_mut().map(|status| status.remove("details"));
    }
    json
}
