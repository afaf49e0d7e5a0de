//! Whom, what and when there is no value for.

use super::*;

#[test]
fn who_is_nobody_gets_nothing() {
    for user in ["", "  "] {
        let request = MetricsRequest {
            user: user.as_bytes(),
            ..get("/healthz")
        };
        assert_eq!(World::known().ask(request).0, 401, "{user:?}");
    }
}

#[test]
fn what_clients_get_wrong_is_a_bad_request() {
    let world = World::known();
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
        let refusal = world.refusal(get(&format!("{CUSTOM}/{path}")));
        assert_eq!(refusal, (400, "BadRequest".to_owned(), message.to_owned()), "{path}");
    }
    assert_eq!(
        world
            .items(&format!("{CUSTOM}/services/*/burst_headroom?watch=true"))
            .len(),
        2
    );
    let (status, reason, message) = world.refusal(get(&format!("{EXTERNAL}/burst_headroom?watch=true")));
    assert_eq!((status, reason.as_str()), (405, "MethodNotAllowed"));
    assert_eq!(
        message,
        "watch is not supported on resources of kind \"*.external.metrics.k8s.io\""
    );
}

#[test]
fn only_get_is_answered_and_only_in_json() {
    let world = World::known();
    let path = format!("{CUSTOM}/services/web/burst_headroom");
    for method in ["POST", "PUT", "PATCH", "DELETE", "HEAD", "get", ""] {
        let request = MetricsRequest {
            method: method.as_bytes(),
            ..get(&path)
        };
        let answer = world.reply(request).answer;
        assert_eq!(answer.status, 405, "{method}");
        assert!(answer.headers.contains(&("allow", "GET".to_owned())), "{method}");
    }
    let protobuf = MetricsRequest {
        accept: b"application/vnd.kubernetes.protobuf",
        ..get(&path)
    };
    let message = "only the following media types are accepted: application/json".to_owned();
    assert_eq!(world.refusal(protobuf), (406, "NotAcceptable".to_owned(), message));
    let controller = MetricsRequest {
        accept: b"application/vnd.kubernetes.protobuf, */*",
        ..get(&path)
    };
    assert_eq!(world.ask(controller).0, 200);
    let answer = world.reply(controller).answer;
    assert!(
        answer
            .headers
            .contains(&("content-type", "application/json".to_owned()))
    );
}

#[test]
fn old_and_unknown_values_are_unavailable_and_never_nothing() {
    let headroom = format!("{CUSTOM}/services/web/burst_headroom");
    let requests = format!("{EXTERNAL}/burst_requests_per_second");
    let mut world = World::empty();
    for (path, message) in [
        (
            &headroom,
            "snapshot is not there yet: the Kubernetes API was never read in full",
        ),
        (&requests, "requests were not counted for a whole window yet"),
    ] {
        let refusal = world.refusal(get(path));
        assert_eq!(refusal, (503, "ServiceUnavailable".to_owned(), message.to_owned()));
    }
    world = World::known();
    world
        .picture
        .look(&world.config, Some(&confirmed(T0)), T0.after(Duration::from_secs(95)));
    world.rates = Rates::Stale {
        age: Duration::from_secs(12),
        limit: Duration::from_secs(10),
    };
    for (path, message) in [
        (&headroom, "snapshot is 95s old (limit 60s)"),
        (&requests, "counts of requests are 12s old (limit 10s)"),
    ] {
        assert_eq!(world.refusal(get(path)).2, message);
        assert!(
            world
                .reply(get(path))
                .answer
                .headers
                .iter()
                .all(|(name, _)| *name != "retry-after")
        );
    }
    assert_eq!(world.ask(get("/apis/custom.metrics.k8s.io/v1beta2")).0, 200);
}
