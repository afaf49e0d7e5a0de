use super::super::picture::tests::{T0, config};
use super::*;

const CONFIG: &str = r#","metrics_apis":{"filter_chain":"metrics","labels":{"cluster":"east"}}"#;

fn get(path: &str) -> Request<'_> {
    Request {
        method: b"GET",
        path: path.as_bytes(),
        accept: b"application/json",
        if_none_match: b"",
        user: b"system:kube-aggregator",
    }
}

/// What is said without any snapshot: status and body.
fn plain(request: Request<'_>) -> (u16, String) {
    let config = config(CONFIG);
    let sources = Sources {
        picture: &Picture::default(),
        rates: &Rates::default(),
        now: T0,
    };
    let reply = answer(&config, config.metrics_apis.as_ref().unwrap(), sources, request);
    let body = String::from_utf8(reply.answer.body.to_vec()).unwrap();
    (reply.answer.status, body)
}

#[test]
fn who_is_nobody_gets_nothing() {
    for user in ["", "  "] {
        let request = Request {
            user: user.as_bytes(),
            ..get("/healthz")
        };
        assert_eq!(plain(request).0, 401, "{user:?}");
    }
}

#[test]
fn discovery_and_health_need_no_snapshot() {
    for (path, body) in [
        ("/healthz", "ok"),
        ("/readyz", "ok"),
        ("/livez", "ok"),
        (
            "/apis/external.metrics.k8s.io",
            "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",\"name\":\"external.metrics.k8s.io\",\
             \"versions\":[{\"groupVersion\":\"external.metrics.k8s.io/v1beta1\",\"version\":\"v1beta1\"}],\
             \"preferredVersion\":{\"groupVersion\":\"external.metrics.k8s.io/v1beta1\",\"version\":\"v1beta1\"}}\n",
        ),
    ] {
        assert_eq!(plain(get(path)), (200, body.to_owned()), "{path}");
    }
}

#[test]
fn other_paths_are_not_found_each_in_its_way() {
    let paths = |path| plain(get(path));
    assert_eq!(paths("/apis/apps/v1").0, 404);
    assert!(paths("/apis/apps/v1").1.starts_with("{\"paths\":[\"/apis\","));
    assert!(
        paths("/apis/external.metrics.k8s.io/v1beta1/x")
            .1
            .contains("\"reason\":\"NotFound\"")
    );
    assert_eq!(
        plain(Request {
            method: b"POST",
            ..get("/apis")
        })
        .0,
        405
    );
}

#[test]
fn the_resources_of_a_version_are_scoped_alike() {
    let (status, body) = plain(get("/apis/custom.metrics.k8s.io/v1beta2"));
    assert_eq!(status, 200);
    let list: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(list["groupVersion"], "custom.metrics.k8s.io/v1beta2");
    let resources = list["resources"].as_array().unwrap();
    assert_eq!(resources.len(), 25);
    assert!(body.contains(
        "{\"name\":\"deployments.apps/burst_current_load\",\"singularName\":\"\",\"namespaced\":true,\
         \"kind\":\"MetricValueList\",\"verbs\":[\"get\"]}"
    ));
    for resource in resources {
        let name = resource["name"].as_str().unwrap();
        assert_eq!(resource["namespaced"], !name.starts_with("namespaces/"), "{name}");
    }
}
