//! Who may read which metric: by the RBAC of a real API server, and asked as the library of every adapter asks.

use burst_metrics_api::MetricsRequest;
use burst_metrics_api::review::{AccessReview, ReviewError, review_failed};
use burst_model::config::Authorization;
use burst_testkit::{Controllers, Version, http::Answer, http::Tls, port, repository, wait};
use serde_json::{Value, json};

use crate::{
    namespace::alone,
    stage::{Example, SOON, Stage, adapter::Adapter, judge::Judge, shop},
};

const CUSTOM: &str = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop";
const EXTERNAL: &str = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop";

/// Whoever is asked answers in that time, on a machine with much else to do.
const PATIENT: &str = r#""request_timeout": "60s", "#;

/// A shop whose metrics the proxy asks about, and a client that is believed to be the API server.
fn stage() -> (Stage, Tls) {
    let reviewed = |_: &_| Example {
        changes: vec![(
            r#""filter_chain": "metrics-apis""#,
            r#""filter_chain": "metrics-apis", "authorization": "subject_access_review""#.into(),
        )],
        ..Example::alone()
    };
    let stage = Stage::of(Version::Tested, Controllers::None, PATIENT, reviewed);
    shop::create(&stage.cluster);
    shop::observe(&stage.cluster);
    stage.wait_for_the_shop();
    let certificate = stage.cluster.front_proxy().client("front-proxy-client", None);
    let client = stage.proxy.client(Some(&certificate));
    (stage, client)
}

/// A Role in the shop, for a user or a group.
fn allow(stage: &Stage, name: &str, rule: &Value, subject: &str) {
    let (kind, subject) = subject.split_once(' ').expect("`User NAME` or `Group NAME`");
    let api = "rbac.authorization.k8s.io";
    let metadata = json!({"name": name, "namespace": shop::NAMESPACE});
    let role = json!({"apiVersion": format!("{api}/v1"), "kind": "Role", "metadata": metadata, "rules": [rule]});
    let binding = json!({
        "apiVersion": format!("{api}/v1"),
        "kind": "RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": api, "kind": "Role", "name": name},
        "subjects": [{"apiGroup": api, "kind": kind, "name": subject}],
    });
    stage.cluster.apply(&format!("{role}\n---\n{binding}"));
}

#[test]
fn a_role_decides_who_may_read_a_metric() {
    let (stage, client) = stage();
    let ask = |headers: &[(&str, &str)], path: &str| stage.proxy.ask(&client, path, headers);
    let becomes = |status: u16, headers: &[(&str, &str)], path: &str| {
        wait::for_ok(SOON, path, || match ask(headers, path) {
            answer if answer.status == status => Ok(answer),
            answer => Err(format!("{answer:?}")),
        })
    };
    let (alice, bob) = ([("x-remote-user", "alice")], [("x-remote-user", "bob")]);
    let external = format!("{EXTERNAL}/burst_headroom");
    let refused = ask(&alice, &external);
    let told: Value = serde_json::from_str(&refused.body).expect("a Status");
    assert_eq!(
        (refused.status, &told["reason"]),
        (403, &json!("Forbidden")),
        "{refused:?}"
    );

    let list = json!({"apiGroups": ["external.metrics.k8s.io"], "resources": ["burst_headroom"], "verbs": ["list"]});
    allow(&stage, "list-headroom", &list, "User alice");
    becomes(200, &alice, &external);
    let selects = format!("{external}?labelSelector=service+in+%28web%2Capi%29%2C%21canary%2Ctier%21%3Dx%2Clevel%3E3");
    assert_eq!(
        becomes(200, &alice, &selects).status,
        200,
        "the API server takes what is selected"
    );
    assert_eq!(ask(&bob, &selects).status, 403);
    assert_eq!(
        ask(&alice, &format!("{EXTERNAL}/burst_max_load")).status,
        403,
        "another metric"
    );
    assert_eq!(
        ask(&alice, &external.replace("/shop/", "/default/")).status,
        403,
        "another namespace"
    );

    let get = json!({
        "apiGroups": ["custom.metrics.k8s.io"], "resources": ["services/burst_headroom"], "resourceNames": ["web"],
        "verbs": ["get"],
    });
    allow(&stage, "get-headroom", &get, "Group a,b");
    let two = [bob[0], ("x-remote-group", "a"), ("x-remote-group", "b")];
    let one = [bob[0], ("x-remote-group", "a,b")];
    becomes(200, &one, &format!("{CUSTOM}/services/web/burst_headroom"));
    for (user, path) in [
        (&two[..], "services/web"),
        (&one, "services/api"),
        (&one, "services/*"),
        (&one, "deployments.apps/web"),
    ] {
        assert_eq!(
            ask(user, &format!("{CUSTOM}/{path}/burst_headroom")).status,
            403,
            "{user:?} {path}"
        );
    }
    assert_eq!(
        ask(&bob, "/apis/custom.metrics.k8s.io/v1beta2").status,
        200,
        "anybody may discover"
    );

    all_namespaces_are_for_a_cluster_role(&stage, &client);

    let groups: Vec<_> = (0..200).map(|number| format!("group-{number}")).collect();
    let many = groups
        .iter()
        .map(|group| ("x-remote-group", group.as_str()))
        .chain(alice);
    assert_eq!(ask(&many.collect::<Vec<_>>(), &external).status, 200);

    stage
        .cluster
        .kubectl(&["delete", "rolebinding", "list-headroom", "--namespace", shop::NAMESPACE]);
    becomes(403, &alice, &external);
}

/// A Role is for its namespace: `*` is none, and what is in all of them is more than one Role gives.
fn all_namespaces_are_for_a_cluster_role(stage: &Stage, client: &Tls) {
    let carol = [("x-remote-user", "carol")];
    let one = format!("{CUSTOM}/metrics/burst_headroom");
    let all = one.replace("/shop/", "/%2A/");
    let rule = json!({"apiGroups": ["custom.metrics.k8s.io"], "resources": ["metrics"], "verbs": ["get"]});
    allow(stage, "sums-of-the-shop", &rule, "User carol");
    let becomes = |status: u16, path: &str| {
        wait::for_ok(SOON, path, || match stage.proxy.ask(client, path, &carol) {
            answer if answer.status == status => Ok(answer),
            answer => Err(format!("{answer:?}")),
        })
    };
    becomes(200, &one);
    let refused = becomes(403, &all);
    assert!(!refused.body.contains("\"value\""), "{}", refused.body);

    let api = "rbac.authorization.k8s.io";
    let metadata = json!({"name": "sums"});
    let role = json!({"apiVersion": format!("{api}/v1"), "kind": "ClusterRole", "metadata": metadata, "rules": [rule]});
    let binding = [
        "create",
        "clusterrolebinding",
        "sums",
        "--clusterrole=sums",
        "--user=carol",
    ];
    stage.cluster.apply(&role.to_string());
    stage.cluster.kubectl(&binding);
    let list: Value = serde_json::from_str(&becomes(200, &all).body).expect("JSON");
    let items = list["items"].as_array().expect("items").iter();
    let found: Vec<_> = items
        .map(|item| (&item["describedObject"]["name"], &item["value"]))
        .collect();
    assert_eq!(found, [(&json!("shop"), &json!("12"))]);
}

/// The API server itself is of `system:masters`; so the cluster is as whole as without reviews, and HPAs are answered.
#[test]
fn the_clusters_own_controllers_are_allowed_and_the_shipped_role_lets_the_gateway_ask() {
    let (stage, client) = stage();
    let hpas = [(
        "x-remote-user",
        "system:serviceaccount:kube-system:horizontal-pod-autoscaler",
    )];
    let path = format!("{EXTERNAL}/burst_headroom?labelSelector=service%3Dweb");
    wait::for_ok(SOON, "a value", || match stage.proxy.ask(&client, &path, &hpas) {
        answer if answer.status == 200 => Ok(()),
        answer => Err(format!("{answer:?}")),
    });
    let gateway = "--as=system:serviceaccount:istio-system:istio-ingressgateway";
    let may = [
        "auth",
        "can-i",
        "create",
        "subjectaccessreviews.authorization.k8s.io",
        gateway,
    ];
    assert!(stage.cluster.try_kubectl(&may, "").is_err());
    let role = repository().join("istio/metrics-apis-review/role-binding.yaml");
    stage
        .cluster
        .kubectl(&["apply", "--filename", role.to_str().expect("a path that is text")]);
    wait::for_ok(SOON, "a role", || stage.cluster.try_kubectl(&may, ""));
}

/// Users, each with what the API server says of one.
const USERS: [&[(&str, &str)]; 5] = [
    &[("x-remote-user", "alice")],
    &[
        ("x-remote-user", "alice"),
        ("x-remote-group", "a,b"),
        ("x-remote-group", "c"),
    ],
    &[("x-remote-user", "bob"), ("x-remote-group", "system:authenticated")],
    &[
        ("x-remote-user", "system:anonymous"),
        ("x-remote-group", "system:unauthenticated"),
    ],
    &[
        ("x-remote-user", "carol"),
        ("x-remote-extra-example.org%2fscopes", "read"),
        ("x-remote-extra-example.org%2fscopes", "write"),
        ("x-remote-extra-100%", "x"),
    ],
];

const REQUESTS: [(&str, &str); 26] = [
    (
        "GET",
        "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/services/web/m",
    ),
    (
        "GET",
        "/apis/custom.metrics.k8s.io/v1beta1/namespaces/shop/deployments.apps/%2A/m?labelSelector=a%3Db",
    ),
    ("GET", "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/metrics/m"),
    ("GET", "/apis/custom.metrics.k8s.io/v1beta2/namespaces/%2A/metrics/m"),
    (
        "GET",
        "/apis/custom.metrics.k8s.io/v1beta2/namespaces/*/metrics/m?labelSelector=a%3Db",
    ),
    ("GET", "/apis/custom.metrics.k8s.io/v1beta2/namespaces/*/services/*/m"),
    ("GET", "/apis/external.metrics.k8s.io/v1beta1/namespaces/%2A/m"),
    ("GET", "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/status"),
    ("GET", "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop"),
    ("GET", "/apis/custom.metrics.k8s.io/v1beta2/nodes/%2A/m"),
    ("GET", "/apis/custom.metrics.k8s.io/v1beta2/watch/namespaces/shop/pods"),
    (
        "HEAD",
        "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/services/web/m",
    ),
    (
        "POST",
        "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/services/web/m",
    ),
    ("DELETE", "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/services"),
    ("GET", "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/m"),
    ("GET", "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/a%5C%7Cb"),
    ("GET", "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/a%2Fb"),
    ("GET", "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/m?watch=1"),
    (
        "GET",
        "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/m?labelSelector=b+notin+%28y%2Cx%29%2C%21c%2Cd%2Ca%21%3D1%2Ce%3E1&limit=5",
    ),
    (
        "GET",
        "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/m?labelSelector=a%3D%3D%3Db",
    ),
    (
        "GET",
        "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/m?fieldSelector=metadata.name%3Dx%2Cb%21%3D%5C%2C",
    ),
    (
        "GET",
        "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/m?fieldSelector=metadata.name%3Dx&limit=abc",
    ),
    ("GET", "/apis"),
    ("GET", "/apis/external.metrics.k8s.io/v1beta1"),
    ("GET", "/openapi/v2"),
    ("GET", "/version"),
];

#[test]
fn the_api_server_is_asked_and_users_are_told_as_every_other_adapter_does() {
    alone(
        "reviews::the_api_server_is_asked_and_users_are_told_as_every_other_adapter_does",
        || {
            let (stage, client) = stage();
            let judge = Judge::start();
            let adapter = Adapter::start_at(port::free(), &stage, &judge.kubeconfig());
            let ask = |method: &str, path: &str, user: &[(&str, &str)]| {
                let url = format!("https://{}{path}", adapter.address);
                client
                    .try_send(method, &url, user)
                    .unwrap_or_else(|error| panic!("{method} {path}: {error}"))
            };
            judge.say(201, json!({"allowed": false, "reason": "a <reason>"}));
            wait::until(SOON, "an adapter that knows the API server", || {
                ask("GET", "/warm", USERS[0]);
                judge.asked().iter().any(|spec| spec["user"] == "alice")
            });
            // What it asked before it keeps for a while.
            let mut kept = Vec::new();
            for (method, path) in REQUESTS {
                for user in USERS {
                    let theirs = ask(method, path, user);
                    let pseudo_headers = [(":method", method), (":path", path)];
                    let headers = pseudo_headers.iter().chain(user);
                    let headers = headers.map(|(name, value)| (*name, value.as_bytes()));
                    let request = MetricsRequest::parse(headers, Authorization::SubjectAccessReview);
                    let request = request.expect("a request with a user");
                    let ours = AccessReview::of(&request);
                    let spec: Value = serde_json::from_str(&ours.to_json()).expect("JSON");
                    let spec = without_empty(spec["spec"].clone());
                    kept.extend(asked_of(&judge, user));
                    assert!(
                        kept.contains(&spec),
                        "{method} {path} {user:?}: {spec:#}\n{:#?}",
                        kept.last()
                    );
                    refuses_alike(method, path, &ours, &theirs);
                }
            }
            // Nobody may where nobody can tell, and the next one is asked about again.
            for status in [json!({"allowed": true, "denied": true}), Value::Null] {
                judge.say(if status.is_null() { 403 } else { 201 }, status);
                let user = [("x-remote-user", "dave")];
                assert_eq!(
                    ask("GET", "/apis", &user).status,
                    review_failed(&ReviewError::NoAnswer).status
                );
            }
        },
    );
}

/// The question about that user, if one was asked; the API server's own probes are about others.
fn asked_of(judge: &Judge, user: &[(&str, &str)]) -> Option<Value> {
    let (_, name) = user[0];
    let mut asked: Vec<_> = judge.asked().into_iter().filter(|spec| spec["user"] == name).collect();
    assert!(asked.len() <= 1, "{asked:#?}");
    asked.pop()
}

/// Go leaves out lists that are empty.
fn without_empty(mut spec: Value) -> Value {
    if spec["groups"].as_array().is_some_and(Vec::is_empty) {
        spec.as_object_mut().map(|spec| spec.remove("groups"));
    }
    spec
}

fn refuses_alike(method: &str, path: &str, ours: &AccessReview<'_>, theirs: &Answer) {
    let ours = ours.forbidden("a <reason>");
    assert_eq!(theirs.status, ours.status, "{method} {path}: {theirs:?}");
    if method != "HEAD" {
        let body = |bytes: &[u8]| -> Value { serde_json::from_slice(bytes).expect("a Status") };
        assert_eq!(body(theirs.body.as_bytes()), body(&ours.body), "{method} {path}");
        assert_eq!(theirs.header("x-content-type-options"), Some("nosniff"));
    }
}
