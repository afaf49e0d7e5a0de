//! The metrics APIs on their own filter chain, next to a gateway's.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
};

use burst_testkit::{
    Version,
    filter::{Backend, NGSA_1, NGSA_1_CLUSTER, Plugin, Proxy, TlsIdentity, listing},
    http::{Request, Tls},
};
use serde_json::{Value, json};

on_each_envoy!(
    the_metrics_apis_are_served_on_their_filter_chain_only,
    user_headers_are_trusted_over_mutual_tls_only,
    two_listeners_with_one_configuration_have_one_leader,
    the_aggregator_gets_the_values_of_the_cluster,
    stale_values_are_a_503_and_discovery_still_answers,
    malformed_requests_are_refused,
);

/// One configuration for both listeners, so that they are one plugin. The client of these tests speaks plain text.
fn keys() -> Value {
    json!({"metrics_apis": {"filter_chain": "metrics-apis", "insecure_loopback_demo": true}})
}

fn start(backend: &Backend) -> impl Fn(Version) -> Proxy {
    |version| {
        Proxy::of(version)
            .plugin(Plugin::new("gateway", keys()))
            .plugin(Plugin::new("apis", keys()).filter_chain("metrics-apis"))
            .start(backend)
    }
}

fn by_user(path: &str) -> Request {
    Request::get(path)
        .through(NGSA_1_CLUSTER)
        .header("x-remote-user", "system:kube-aggregator")
}

fn the_metrics_apis_are_served_on_their_filter_chain_only(version: Version) {
    let backend = Backend::sample();
    let proxy = start(&backend)(version);
    let (mut gateway, mut apis) = (proxy.client("gateway"), proxy.client("apis"));
    gateway.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    for (path, status) in [
        ("/apis/custom.metrics.k8s.io/v1beta2", 200),
        ("/apis/external.metrics.k8s.io/v1beta1", 200),
        ("/readyz", 200),
        ("/anything", 404),
        ("/burstmetrics/services", 404),
    ] {
        let answer = apis.ask(&by_user(path));
        assert_eq!((answer.status, answer.header("x-burst")), (status, None), "{path}");
    }
    assert_eq!(apis.ask(&Request::get("/readyz").through(NGSA_1_CLUSTER)).status, 401);
    // On the other chain, the same requests go to the upstream, whatever user their headers claim.
    for path in ["/apis/custom.metrics.k8s.io/v1beta2", "/readyz"] {
        let answer = gateway.ask(&by_user(path));
        assert_eq!(
            (answer.body.as_str(), answer.header("x-burst")),
            ("hello\n", Some(NGSA_1)),
            "{path}"
        );
    }
    assert_eq!(gateway.ask(&by_user("/burstmetrics/services")).status, 200);
}

fn user_headers_are_trusted_over_mutual_tls_only(version: Version) {
    let (backend, identity) = (Backend::sample(), TlsIdentity::new("localhost"));
    let keys = || json!({"metrics_apis": {"filter_chain": "metrics-apis"}});
    let plugin = |name| Plugin::new(name, keys()).filter_chain("metrics-apis");
    let proxy = Proxy::of(version)
        .plugin(plugin("plain"))
        .plugin(plugin("tls").tls(&identity))
        .plugin(plugin("mutual").mutual_tls(&identity))
        .start(&backend);
    let mut plain = proxy.client("plain");
    for path in ["/readyz", "/apis/custom.metrics.k8s.io/v1beta2", "/anything"] {
        // With this header, Envoy takes the client for one on the same machine.
        let claimed = by_user(path).header("x-forwarded-for", "127.0.0.1");
        let answer = plain.ask(&claimed);
        assert_eq!((answer.status, answer.header("x-burst")), (403, None), "{path}");
        let status: Value = serde_json::from_str(&answer.body).expect("a Status");
        assert_eq!(status["reason"], "Forbidden");
        let message = status["message"].as_str().expect("text");
        assert!(message.contains("only over mutual TLS"), "{message}");
    }
    let user = [("x-remote-user", "system:kube-aggregator")];
    let status = |listener: &str, client: &Tls| {
        let url = format!("https://localhost:{}/readyz", proxy.envoy.listener(listener).port());
        let answer = client.try_send("GET", &url, &user);
        answer.map(|answer| answer.status).map_err(|error| error.to_string())
    };
    let (shows, shows_none) = (identity.client(true), identity.client(false));
    assert_eq!(
        status("tls", &shows_none),
        Ok(403),
        "encrypted, but without a client certificate"
    );
    for listener in ["tls", "mutual"] {
        assert_eq!(status(listener, &shows), Ok(200), "{listener}");
    }
    assert!(
        status("mutual", &shows_none).is_err(),
        "Envoy itself ends the connection"
    );
    // Three requests to each of two workers, and one more.
    assert_eq!(
        proxy.wait_for_stat("burst_metrics_apis_insecure_total", |count| count >= 7),
        7
    );
    let lines = proxy.log_lines("requests of the metrics APIs are refused");
    assert_eq!(lines.len(), 2, "one for each worker: {lines:#?}");
    assert!(
        lines.iter().all(|line| line.contains(r#"come to "127.0.0.1:"#)),
        "{lines:#?}"
    );
}

fn two_listeners_with_one_configuration_have_one_leader(version: Version) {
    let backend = Backend::sample();
    let proxy = start(&backend)(version);
    let (mut gateway, mut apis) = (proxy.client("gateway"), proxy.client("apis"));
    gateway.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    assert_eq!(apis.ask(&by_user("/healthz")).body, "ok");
    proxy.wait_for_main_thread();
    backend.wait_for_polls_of_one();
}

fn the_aggregator_gets_the_values_of_the_cluster(version: Version) {
    let backend = Backend::sample();
    let labels = json!({"metadata": {"labels": {"app": "ngsa", "tier": "front"}}});
    backend
        .cluster
        .patch("services", "default/ngsa-svc-1", &labels)
        .expect("the Service");
    let proxy = start(&backend)(version);
    let mut apis = proxy.client("apis");
    let custom = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default";
    let external = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default";
    let single = by_user(&format!("{custom}/services/ngsa-svc-1/burst_headroom"));
    apis.wait(&single, "a value", |answer| answer.status == 200);
    for (path, count) in [
        (format!("{custom}/services/ngsa-svc-1/burst_headroom"), 1),
        (
            format!("{custom}/services/%2A/burst_headroom?labelSelector=tier+in+%28front%2Cback%29"),
            1,
        ),
        (
            format!("{custom}/services/%2A/burst_headroom?labelSelector=tier%3Dback"),
            0,
        ),
        (format!("{custom}/metrics/burst_max_load"), 1),
        (
            format!("{external}/burst%5C%7Cheadroom?labelSelector=hpa%3Dngsa-hpa-1"),
            1,
        ),
        (
            format!("{external}/BURST%7CHEADROOM?labelSelector=service%3Dngsa-svc-1"),
            1,
        ),
        (format!("{external}/burst_headroom?labelSelector=service%3Dnone"), 0),
    ] {
        // Each worker reports the time of its snapshot, and two workers may be one poll apart.
        for answer in apis.ask_each(&by_user(&path)) {
            let list: Value =
                serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{path}: {error}: {answer:?}"));
            assert_eq!(
                (answer.status, answer.header("content-type")),
                (200, Some("application/json")),
                "{path}"
            );
            assert_eq!(list["items"].as_array().map(Vec::len), Some(count), "{path}: {list}");
            let value = &list["items"][0]["value"];
            assert!(
                count == 0 || value.as_str().is_some_and(|value| value != "0"),
                "{path}: {list}"
            );
        }
    }
    let risen = |answer: &burst_testkit::http::Answer| answer.body.contains(r#""value":"2""#);
    assert!(!apis.ask_each(&single).iter().any(risen));
    backend.scale_ngsa_1(3);
    apis.wait(&single, "a headroom of 2", risen);
    proxy.wait_for_stat("burst_reply_200_total", |count| count >= 16);
}

fn stale_values_are_a_503_and_discovery_still_answers(version: Version) {
    let mut backend = Backend::sample();
    let mut keys = keys();
    keys["max_staleness"] = "5s".into();
    let keys = listing(keys);
    let proxy = Proxy::of(version)
        .plugin(Plugin::new("apis", keys).filter_chain("metrics-apis"))
        .start(&backend);
    let mut apis = proxy.client("apis");
    let value = by_user("/apis/external.metrics.k8s.io/v1beta1/namespaces/default/burst_headroom");
    apis.wait(&value, "a value", |answer| answer.status == 200);
    backend.refuse_connections();
    apis.wait(&value, "an age", |answer| {
        answer.status == 503 && answer.body.contains("s old (limit 5s)") && answer.header("retry-after").is_none()
    });
    for path in [
        "/apis",
        "/apis/external.metrics.k8s.io/v1beta1",
        "/apis/custom.metrics.k8s.io/v1beta1",
        "/readyz",
    ] {
        assert_eq!(apis.ask(&by_user(path)).status, 200, "{path}");
    }
}

fn malformed_requests_are_refused(version: Version) {
    let backend = Backend::sample();
    let proxy = start(&backend)(version);
    let mut apis = proxy.client("apis");
    let custom = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default";
    apis.wait(
        &by_user(&format!("{custom}/services/*/burst_headroom")),
        "a value",
        |answer| answer.status == 200,
    );
    let terms: Vec<_> = (0..10_000).map(|number| format!("!k{number}")).collect();
    let few: String = terms[..5_000].join(",");
    for (path, status) in [
        (format!("{custom}/services/*/burst_headroom?labelSelector={few}"), 400),
        (format!("{custom}/services/%2e%2e/burst_headroom"), 404),
        (format!("{custom}/services/a%2F..%2Fb/burst_headroom"), 404),
        (format!("{custom}/%2e%2e/burst_headroom"), 404),
        (format!("{custom}/services/%00/burst_headroom"), 404),
        (format!("{custom}/services/%ff/burst_headroom"), 400),
        (format!("{custom}//services//burst_headroom"), 404),
    ] {
        let answer = apis.ask(&by_user(&path));
        assert_eq!(answer.status, status, "{path:.100}: {answer:?}");
    }
    // By default, Envoy accepts no more than 60 KiB of headers.
    for length in [64 << 10, 1 << 20] {
        let status = status_of_long_path(proxy.envoy.listener("apis"), custom, length);
        assert!(["414", "431"].contains(&&*status), "{length}: {status}");
    }
}

/// The status for a path longer than the HTTP library supports. Envoy may answer before it has read all of it.
fn status_of_long_path(address: SocketAddr, custom: &str, length: usize) -> String {
    let selector = "a".repeat(length);
    let request =
        format!("GET {custom}/services/*/burst_headroom?labelSelector={selector} HTTP/1.1\r\nhost: proxy.test\r\n\r\n");
    let mut connection = TcpStream::connect(address).expect("a connection");
    drop(connection.write_all(request.as_bytes()));
    let mut start = [0; "HTTP/1.1 431".len()];
    connection.read_exact(&mut start).expect("an answer");
    String::from_utf8_lossy(&start[start.len() - 3..]).into_owned()
}
