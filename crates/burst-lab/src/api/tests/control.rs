//! The request log, and the handles over HTTP.

use super::*;

#[test]
fn requests_are_counted_by_resource_and_user_agent() {
    let api = api(&["a/1"]);
    api.faults.inject_times(SERVICES, Fault::Hang, 1);
    text(&api, &format!("{ALL_HPAS}?limit=5"));
    text(&api, ALL_HPAS);
    api.handle(&request("/api/v1/services"));
    let counts = api.requests.counts();
    assert_eq!(
        (counts.total, counts.by_resource[HPAS], counts.by_user_agent["test"]),
        (3, 2, 3)
    );
    let seen = api.requests.entries();
    assert_eq!(
        (seen[0].query.as_str(), seen[0].verb.as_str(), seen[0].status),
        ("limit=5", "list", Some(200))
    );
    assert_eq!((seen[2].fault.as_deref(), seen[2].status), (Some("Hang"), None));
    api.requests.clear();
    assert_eq!(api.requests.counts().total, 0);
}

#[test]
fn every_handle_is_reachable_over_http() {
    let api = api(&["a/1"]);
    let send = |method: &str, uri: &str, body: &str| {
        let request = Request::builder()
            .method(method)
            .uri(uri)
            .body(Bytes::copy_from_slice(body.as_bytes()))
            .unwrap();
        let answer = complete(api.handle(&request));
        (
            answer.status().as_u16(),
            String::from_utf8(answer.into_body().to_vec()).unwrap(),
        )
    };
    assert_eq!(
        send("PUT", "/lab/fault", r#"{"resource":"services","fault":"gone"}"#).0,
        200
    );
    assert_eq!(text(&api, "/api/v1/services").0, 410);
    assert_eq!(send("DELETE", "/lab/fault?resource=services", "").0, 200);
    assert_eq!(text(&api, "/api/v1/services").0, 200);
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n";
    assert!(send("POST", "/lab/objects", service).1.contains("resourceVersion"));
    assert!(api.cluster.object(SERVICES, "default/web").is_some());
    assert_eq!(
        send("DELETE", "/lab/objects?resource=services&object=default/web", "").0,
        200
    );
    assert_eq!(
        send("DELETE", "/lab/objects?resource=services&object=default/web", "").0,
        400
    );
    assert_eq!(
        send("PUT", "/lab/replicas", r#"{"hpa":"a/1","currentReplicas":4}"#).0,
        200
    );
    assert_eq!(api.cluster.object(HPAS, "a/1").unwrap()["status"]["currentReplicas"], 4);
    assert_eq!(send("PUT", "/lab/access", r#"{"tokens":{"t":"me"}}"#).0, 200);
    assert_eq!(text(&api, "/api/v1/services").0, 403);
    assert_eq!(
        serde_json::from_str::<Value>(&send("GET", "/lab/requests", "").1).unwrap()["counts"]["total"],
        3
    );
    assert_eq!(
        send("PUT", "/lab/fault", "{}"),
        (400, "missing field `resource` at line 1 column 2\n".to_owned())
    );
    assert_eq!(send("GET", "/lab/nothing", "").0, 404);
}

#[test]
fn every_fault_that_the_usage_names_can_be_injected() {
    let api = api(&[]);
    let (_, usage) = text(&api, "/lab/");
    let (_, faults) = usage.split_once("until cleared:").unwrap();
    let faults: Vec<&str> = faults.split_whitespace().collect();
    for fault in &faults {
        let body = format!(r#"{{"resource":"services","fault":{fault}}}"#);
        let put = Request::put("/lab/fault").body(Bytes::from(body)).unwrap();
        assert_eq!(api.handle(&put).status(), Some(StatusCode::OK), "{fault}");
    }
    assert_eq!(api.faults.pending().len(), 21);
}
