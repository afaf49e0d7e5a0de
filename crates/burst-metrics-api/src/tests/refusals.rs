//! Tests of the requests that are refused: without a user, malformed, or while values are missing.

use super::*;

#[test]
fn a_request_without_a_user_is_unauthorized() {
    for user in ["", "  "] {
        let request = TestRequest {
            user: user.as_bytes(),
            ..get("/healthz")
        };
        assert_eq!(TestServer::synced().status_and_body(request).0, 401, "{user:?}");
    }
}

#[test]
fn an_invalid_option_is_a_bad_request() {
    let server = TestServer::synced();
    for (path, message) in [
        (
            "services/*/burst_headroom?labelSelector=%3D%3Da",
            "found '==', expected: !, identifier, or 'end of string'",
        ),
        (
            "services/*/burst_headroom?metricLabelSelector=%3D",
            "found '=', expected: !, identifier, or 'end of string'",
        ),
        (
            "services/*/burst_headroom?limit=abc",
            "strconv.ParseInt: parsing \"abc\": invalid syntax",
        ),
        (
            "services/web/burst_headroom?fieldSelector=metadata.name%3Dapi",
            "fieldSelector metadata.name doesn't match requested name",
        ),
    ] {
        let refusal = server.error(get(&format!("{CUSTOM}/{path}")));
        assert_eq!(refusal, (400, "BadRequest".to_owned(), message.to_owned()), "{path}");
    }
    assert_eq!(
        server
            .items(&format!("{CUSTOM}/services/*/burst_headroom?watch=true"))
            .len(),
        2
    );
    let (status, reason, message) = server.error(get(&format!("{EXTERNAL}/burst_headroom?watch=true")));
    assert_eq!((status, reason.as_str()), (405, "MethodNotAllowed"));
    assert_eq!(
        message,
        "watch is not supported on resources of kind \"*.external.metrics.k8s.io\""
    );
}

#[test]
fn only_get_is_allowed() {
    let server = TestServer::synced();
    let path = format!("{CUSTOM}/services/web/burst_headroom");
    for method in ["POST", "PUT", "PATCH", "DELETE", "HEAD", "get", ""] {
        let request = TestRequest {
            method: method.as_bytes(),
            ..get(&path)
        };
        let answer = server.response(request).answer;
        assert_eq!(answer.status, 405, "{method}");
        assert!(answer.headers.contains(&("allow", "GET".to_owned())), "{method}");
    }
}

#[test]
fn an_answer_has_the_format_that_the_client_prefers() {
    let server = TestServer::synced();
    let path = format!("{CUSTOM}/services/web/burst_headroom");
    let answer = |path: &str, accept: &str| {
        let accept = accept.as_bytes();
        server.response(TestRequest { accept, ..get(path) }).answer
    };
    let html = answer(&path, "text/html");
    assert_eq!(html.status, 406);
    let error: Value = serde_json::from_slice(&html.body).unwrap();
    assert_eq!(error["reason"], "NotAcceptable");
    assert_eq!(
        error["message"],
        "only the following media types are accepted: application/json, application/yaml, \
         application/vnd.kubernetes.protobuf"
    );
    let missing = format!("{CUSTOM}/services/web/burst_nothing");
    for (accept, content_type) in [
        (
            "application/vnd.kubernetes.protobuf, */*",
            "application/vnd.kubernetes.protobuf",
        ),
        ("application/yaml", "application/yaml"),
        ("*/*", "application/json"),
    ] {
        for (path, status) in [(&path, 200), (&missing, 404)] {
            let answer = answer(path, accept);
            assert_eq!(answer.status, status);
            assert_eq!(
                answer.headers,
                [("content-type", content_type.to_owned())],
                "{path} {accept}"
            );
        }
    }
}

#[test]
fn missing_and_old_values_are_unavailable() {
    let headroom = format!("{CUSTOM}/services/web/burst_headroom");
    let requests = format!("{EXTERNAL}/burst_requests_per_second");
    let mut server = TestServer::unsynced();
    for (path, message) in [
        (
            &headroom,
            "there is no snapshot yet: the Kubernetes API was never read in full",
        ),
        (&requests, "requests were not counted for a whole window yet"),
    ] {
        let refusal = server.error(get(path));
        assert_eq!(refusal, (503, "ServiceUnavailable".to_owned(), message.to_owned()));
    }
    server = TestServer::synced();
    server
        .cache
        .refresh(&server.config, Some(&confirmed(T0)), T0.after(Duration::from_secs(95)));
    server.rates = Rates::Stale {
        age: Duration::from_secs(12),
        limit: Duration::from_secs(10),
    };
    for (path, message) in [
        (&headroom, "the snapshot is 95s old (limit 60s)"),
        (&requests, "counts of requests are 12s old (limit 10s)"),
    ] {
        assert_eq!(server.error(get(path)).2, message);
        assert!(
            server
                .response(get(path))
                .answer
                .headers
                .iter()
                .all(|(name, _)| *name != "retry-after")
        );
    }
    assert_eq!(
        server.status_and_body(get("/apis/custom.metrics.k8s.io/v1beta2")).0,
        200
    );
}
