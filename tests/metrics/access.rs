//! The listener for the API server answers the API server and no other client.

use burst_testkit::{
    Authority, ControlPlane, Process, Shared, Version,
    filter::on_each_envoy,
    http,
    metrics_apis::{MetricsProxy, SOON},
    port, wait,
};
use serde_json::Value;

const DISCOVERY: &str = "/apis/custom.metrics.k8s.io/v1beta2";

/// The headers with which the aggregator names a user.
const REMOTE: [(&str, &str); 2] = [("x-remote-user", "alice"), ("x-remote-group", "system:authenticated")];

/// The cluster that every proxy here reads. No test changes it.
static CLUSTER: Shared<Cluster> = Shared::new();

struct Cluster {
    _api: Process,
    api_port: u16,
    control_plane: ControlPlane,
}

impl Cluster {
    fn start() -> Self {
        let control_plane = ControlPlane::start_aggregating();
        let api_port = port::free();
        Self {
            _api: control_plane.kubectl_proxy(api_port),
            api_port,
            control_plane,
        }
    }

    fn proxy(&self, version: Version) -> MetricsProxy {
        let keys = r#""sync": {"mode": "list"}, "poll_interval": "1s", "#;
        MetricsProxy::start(version, &self.control_plane, self.api_port, keys)
    }

    /// The authority of the API server's certificate.
    fn authority(&self) -> &Authority {
        self.control_plane.front_proxy()
    }
}

#[test]
fn clients_other_than_the_api_server_are_refused() {
    on_each_envoy(|version| {
        let cluster = CLUSTER.get(Cluster::start);
        let (proxy, front_proxy) = (cluster.proxy(version), cluster.authority());

        let api_server = proxy.client(Some(&front_proxy.client("front-proxy-client", None)));
        let answer = proxy.ask(&api_server, DISCOVERY, &REMOTE);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some("application/json"))
        );

        let anonymous = proxy.ask(&api_server, DISCOVERY, &[]);
        let status: Value = serde_json::from_str(&anonymous.body).expect("a Status");
        assert_eq!(
            (anonymous.status, status["reason"].as_str()),
            (401, Some("Unauthorized"))
        );

        let other_name = proxy.client(Some(&front_proxy.client("admin", Some("system:masters"))));
        let answer = proxy.ask(&other_name, DISCOVERY, &REMOTE);
        assert_eq!((answer.status, answer.body.as_str()), (403, "RBAC: access denied"));

        let other_authority = Authority::new("front-proxy-ca").client("front-proxy-client", None);
        for (shown, failed) in [
            (Some(&other_authority), "fail_verify_error"),
            (None, "fail_verify_no_cert"),
        ] {
            let refused = proxy.try_ask(&proxy.client(shown), DISCOVERY, &REMOTE);
            assert!(refused.is_err(), "{refused:?}");
            let stat = format!("listener.metrics_apis.ssl.{failed}");
            // Envoy updates this counter after it has refused the connection.
            wait::until(SOON, &stat, || proxy.envoy.stat(&stat) > Some(0));
        }
    });
}

#[test]
fn other_listeners_strip_user_headers_and_serve_no_metrics() {
    on_each_envoy(|version| {
        let cluster = CLUSTER.get(Cluster::start);
        let proxy = cluster.proxy(version);
        let url = format!("http://{}{DISCOVERY}", proxy.public());
        let headers = [
            ("X-Remote-User", "root"),
            ("x-remote-group", "system:masters"),
            ("x-ReMote-Extra-scopes%2f", "all"),
            ("x-remote-uid", "0"),
            ("x-remotely", "mine"),
        ];
        let seen = http::send("GET", &url, &headers);
        assert_eq!(seen.status, 200, "the upstream's own: {seen:?}");
        assert!(seen.body.starts_with(&format!("GET {DISCOVERY} ")), "{seen:?}");
        assert!(!seen.body.to_lowercase().contains("x-remote-"), "{}", seen.body);
        assert!(seen.body.contains("x-remotely: mine"), "{}", seen.body);
    });
}

/// The file is replaced as the kubelet replaces those of a mounted Secret. Nothing restarts.
#[test]
fn a_replaced_file_of_the_api_servers_authority_is_used() {
    on_each_envoy(|version| {
        let cluster = CLUSTER.get(Cluster::start);
        let proxy = cluster.proxy(version);
        let next = Authority::new("next-front-proxy-ca");
        let client = |authority: &Authority| proxy.client(Some(&authority.client("front-proxy-client", None)));
        let (now, then) = (client(cluster.authority()), client(&next));
        assert_eq!(proxy.ask(&now, DISCOVERY, &REMOTE).status, 200);
        assert!(proxy.try_ask(&then, DISCOVERY, &REMOTE).is_err());
        proxy.envoy.replace("ca.crt", &next.pem());
        wait::for_ok(SOON, "the next authority", || proxy.try_ask(&then, DISCOVERY, &REMOTE));
        assert!(proxy.try_ask(&now, DISCOVERY, &REMOTE).is_err());
    });
}

#[test]
fn escaped_slashes_and_dots_reach_no_other_path() {
    let cluster = CLUSTER.get(Cluster::start);
    let proxy = cluster.proxy(Version::Tested);
    let certificate = cluster.authority().client("front-proxy-client", None);
    let client = proxy.client(Some(&certificate));
    for path in [
        "namespaces/shop/services%2Fweb%2Fburst_headroom",
        "namespaces/shop/services/web%2fburst_headroom",
        "namespaces/shop/services/%2E%2E/burst_headroom",
        "namespaces/shop/services/../../../../../../healthz",
        "namespaces/%2e%2e/services/web/burst_headroom",
        "namespaces/shop/services/%00/burst_headroom",
        "namespaces//services/web/burst_headroom",
    ] {
        // A worker that has not read the cluster yet answers every path with an error.
        let answer = wait::for_ok(SOON, path, || {
            let answer = proxy.ask(&client, &format!("{DISCOVERY}/{path}"), &REMOTE);
            if answer.status == 503 {
                Err(answer.body)
            } else {
                Ok(answer)
            }
        });
        let status: Value = serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {answer:?}"));
        assert!(matches!(answer.status, 400 | 404), "{path}: {answer:?}");
        assert_eq!(status["code"], answer.status, "{path}: {answer:?}");
    }
}
