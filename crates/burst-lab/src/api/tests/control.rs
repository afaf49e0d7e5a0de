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
fn every_control_is_reachable_over_http() {
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
fn watches_are_configured_and_fail_over_http() {
    let api = api(&["a/1"]);
    let put = |path: &str, body: &'static str| {
        let request = Request::put(path).body(Bytes::from_static(body.as_bytes())).unwrap();
        let answer = complete(api.handle(&request));
        (answer.status().as_u16(), answer.into_body())
    };
    let state = || serde_json::from_str::<Value>(&text(&api, "/lab/watches").1).unwrap();
    let default = json!({ "config": { "watchList": true, "bookmarkPeriod": 60_000 }, "open": {} });
    assert_eq!(state(), default);
    let watch = api.handle(&request(&format!("{ALL_HPAS}?watch=1")));
    let body = r#"{"watchList":false,"bookmarkPeriod":1000}"#;
    assert_eq!(put("/lab/watches", body).0, 200);
    let changed = json!({ "config": { "watchList": false, "bookmarkPeriod": 1000 }, "open": { HPAS: 1 } });
    assert_eq!(state(), changed);
    let fault = r#"{"resource":"*","fault":{"silent":{}}}"#;
    let hit = |count: usize| (200, Bytes::from(format!("{{\n  \"watches\": {count}\n}}")));
    assert_eq!(put("/lab/watches/fault", fault), hit(1));
    drop(watch);
    assert_eq!(put("/lab/watches/fault", fault), hit(0));
    assert_eq!(put("/lab/watches/fault", r#"{"resource":"*","fault":"hang"}"#).0, 400);
}

#[test]
fn every_fault_that_the_usage_names_can_be_injected() {
    let api = api(&[]);
    let (_, usage) = text(&api, "/lab/");
    let (_, faults) = usage.split_once("until cleared:").unwrap();
    let (requests, streams) = faults.split_once("{\"stream\":STREAM_FAULT}").unwrap();
    let (_, streams) = streams.split_once("open now:").unwrap();
    let inject = |path: &str, fault: &str| {
        let body = format!(r#"{{"resource":"services","fault":{fault}}}"#);
        let put = Request::put(path).body(Bytes::from(body)).unwrap();
        assert_eq!(api.handle(&put).status(), Some(StatusCode::OK), "{fault}");
    };
    for fault in requests.split_whitespace() {
        inject("/lab/fault", fault);
    }
    for fault in streams.split_whitespace() {
        inject("/lab/fault", &format!(r#"{{"stream":{fault}}}"#));
        inject("/lab/watches/fault", fault);
    }
    assert_eq!(api.faults.pending().len(), 21 + 7);
}

#[test]
fn the_usage_fits_a_terminal() {
    let (_, usage) = text(&api(&[]), "/lab/");
    for line in usage.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}
