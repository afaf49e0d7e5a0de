//! Which user may read which metric, by the RBAC of a real API server. The filter sends the same reviews as every other
//! adapter.

use burst_metrics_api::MetricsRequest;
use burst_metrics_api::review::AccessReview;
use burst_model::config::Authorization;
use burst_testkit::{
    Controllers, Version,
    http::{Answer, Tls},
    metrics_apis::{Example, SOON, Stage, adapter::Adapter, review_server::ReviewServer, shop},
    network_namespace, port, repository, wait,
};
use http::StatusCode;
use serde_json::{Value, json};

const CUSTOM: &str = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop";
const EXTERNAL: &str = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop";

/// Long enough for every answer, even on a busy machine.
const LONG_TIMEOUT: &str = r#""request_timeout": "60s", "#;

/// A shop whose proxy reviews requests for metrics, and the client certificate of the API server.
fn stage() -> (Stage, Tls) {
    let reviewed = |_: &_| Example {
        changes: vec![(
            r#""filter_chain": "metrics-apis""#,
            r#""filter_chain": "metrics-apis", "authorization": "subject_access_review""#.into(),
        )],
        ..Example::unchanged()
    };
    let stage = Stage::of(Version::Tested, Controllers::None, LONG_TIMEOUT, reviewed);
    shop::create(&stage.cluster);
    shop::observe(&stage.cluster);
    stage.wait_for_the_shop();
    let certificate = stage.cluster.front_proxy().client("front-proxy-client", None);
    let client = stage.proxy.client(Some(&certificate));
    (stage, client)
}

/// Creates a Role in the shop for a user or a group.
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

/// A Role grants access in its own namespace. `*` is not a namespace, and access to all namespaces needs more than one
/// Role.
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

/// The API server's own user is in `system:masters`, so discovery and HPAs work as they do without reviews.
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

/// Users, each with the headers that the API server sends for one.
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
fn reviews_and_refusals_equal_those_of_other_adapters() {
    network_namespace::run("reviews::reviews_and_refusals_equal_those_of_other_adapters", || {
        let (stage, client) = stage();
        let reviews = ReviewServer::start();
        let adapter = Adapter::start_at(port::free(), &stage, &reviews.kubeconfig());
        let ask = |method: &str, path: &str, user: &[(&str, &str)]| {
            let url = format!("https://{}{path}", adapter.address);
            client
                .try_send(method, &url, user)
                .unwrap_or_else(|error| panic!("{method} {path}: {error}"))
        };
        reviews.answer_with(StatusCode::CREATED, json!({"allowed": false, "reason": "a <reason>"}));
        wait::until(SOON, "an adapter that knows the API server", || {
            ask("GET", "/warm", USERS[0]);
            reviews.take_specs().iter().any(|spec| spec["user"] == "alice")
        });
        // The server caches earlier reviews for a while.
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
                kept.extend(review_of(&reviews, user));
                assert!(
                    kept.contains(&spec),
                    "{method} {path} {user:?}: {spec:#}\n{:#?}",
                    kept.last()
                );
                check_equal_refusal(method, path, &ours, &theirs);
            }
        }
        // Without a clear answer, the user is refused, and the next request is reviewed again.
        for status in [json!({"allowed": true, "denied": true}), Value::Null] {
            reviews.answer_with(
                if status.is_null() {
                    StatusCode::FORBIDDEN
                } else {
                    StatusCode::CREATED
                },
                status,
            );
            let user = [("x-remote-user", "dave")];
            assert_eq!(ask("GET", "/apis", &user).status, 500);
        }
    });
}

/// The review for that user, if there was one. The API server's own probes have other users.
fn review_of(reviews: &ReviewServer, user: &[(&str, &str)]) -> Option<Value> {
    let (_, name) = user[0];
    let mut asked: Vec<_> = reviews
        .take_specs()
        .into_iter()
        .filter(|spec| spec["user"] == name)
        .collect();
    assert!(asked.len() <= 1, "{asked:#?}");
    asked.pop()
}

/// Go omits empty lists.
fn without_empty(mut spec: Value) -> Value {
    if spec["groups"].as_array().is_some_and(Vec::is_empty) {
        spec.as_object_mut().map(|spec| spec.remove("groups"));
    }
    spec
}

fn check_equal_refusal(method: &str, path: &str, ours: &AccessReview<'_>, theirs: &Answer) {
    let ours = ours.forbidden("a <reason>");
    assert_eq!(theirs.status, ours.status, "{method} {path}: {theirs:?}");
    if method != "HEAD" {
        let body = |bytes: &[u8]| -> Value { serde_json::from_slice(bytes).expect("a Status") };
        assert_eq!(body(theirs.body.as_bytes()), body(&ours.body), "{method} {path}");
        assert_eq!(theirs.header("x-content-type-options"), Some("nosniff"));
    }
}
