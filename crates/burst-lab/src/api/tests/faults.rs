//! Injected faults.

use super::*;

#[test]
fn each_status_fault_answers_with_its_code_and_reason() {
    let cases = [
        (Fault::Unauthorized, 401, "Unauthorized"),
        (Fault::Forbidden, 403, "Forbidden"),
        (Fault::NotFound, 404, "NotFound"),
        (Fault::Gone, 410, "Expired"),
        (Fault::InternalError, 500, "InternalError"),
        (Fault::Unavailable, 503, "ServiceUnavailable"),
    ];
    let api = api(&["a/1"]);
    for (fault, code, reason) in cases {
        api.faults.inject_times(HPAS, fault, 1);
        let status = get(&api, ALL_HPAS);
        assert_eq!(
            (&status["kind"], &status["code"], &status["reason"]),
            (&json!("Status"), &json!(code), &json!(reason))
        );
        assert_eq!(text(&api, ALL_HPAS).0, 200);
    }
}

#[test]
fn too_many_requests_has_retry_after() {
    let api = api(&[]);
    api.faults.inject(HPAS, Fault::TooManyRequests { retry_after: 7 });
    let answer = complete(api.handle(&request(ALL_HPAS)));
    assert_eq!(
        (answer.status().as_u16(), answer.headers()["retry-after"].as_bytes()),
        (429, b"7".as_slice())
    );
    assert_eq!(answer.into_body(), "Too many requests, please try again later.\n");
}

#[test]
fn body_faults_corrupt_a_good_response() {
    let api = api(&["a/1", "a/2"]);
    let (_, good) = text(&api, ALL_HPAS);
    let corrupted = |fault| {
        api.faults.inject_times(HPAS, fault, 1);
        text(&api, ALL_HPAS)
    };
    let (status, truncated) = corrupted(Fault::Truncate);
    assert!(status == 200 && good.starts_with(&truncated) && truncated.len() < good.len());
    assert!(serde_json::from_str::<Value>(&corrupted(Fault::NotJson).1).is_err());
    assert_eq!(
        serde_json::from_str::<Value>(&corrupted(Fault::OtherKind).1).unwrap()["kind"],
        "APIGroupList"
    );
    assert_eq!(text(&api, ALL_HPAS).1, good);
}

#[test]
fn one_object_of_a_good_list_can_be_malformed() {
    let api = api(&["a/1", "a/2"]);
    api.faults.inject_times(
        HPAS,
        Fault::MalformedObject {
            object: Some("a/2".to_owned()),
        },
        1,
    );
    let list = get(&api, ALL_HPAS);
    assert_eq!(
        (names(&list), &list["items"][1]["spec"]),
        (vec!["1", "2"], &json!("not a spec"))
    );
    assert!(list["items"][0]["spec"].is_object());
    assert!(api.cluster.object(HPAS, "a/2").unwrap()["spec"].is_object());
}

#[test]
fn padding_grows_with_the_page() {
    let api = api(&["a/1", "a/2", "a/3", "a/4"]);
    api.faults.inject(HPAS, Fault::Padding { bytes: 100_000 });
    let size = |limit: usize| text(&api, &format!("{ALL_HPAS}?limit={limit}")).1.len() / 100_000;
    assert_eq!([size(4), size(2), size(1)], [4, 2, 1]);
}

#[test]
fn an_endless_list_begins_again_by_another_token_each_time() {
    let api = api(&["a/1", "a/2", "a/3"]);
    api.faults.inject(HPAS, Fault::Endless);
    let (mut path, mut tokens) = (format!("{ALL_HPAS}?limit=500"), Vec::new());
    for _ in 0..10 {
        let list = get(&api, &path);
        assert_eq!(names(&list), ["1", "2", "3"]);
        let token = list["metadata"]["continue"].as_str().unwrap().to_owned();
        assert!(!tokens.contains(&token), "{token} came before");
        path = format!("{ALL_HPAS}?limit=500&continue={token}");
        tokens.push(token);
    }
}

#[test]
fn connection_faults_are_returned_for_the_server_to_carry_out() {
    let api = api(&["a/1"]);
    let reply = |fault| {
        api.faults.inject_times(HPAS, fault, 1);
        api.handle(&request(ALL_HPAS))
    };
    assert!(matches!(reply(Fault::Hang), Reply::Hang));
    assert!(matches!(reply(Fault::Reset), Reply::Reset));
    assert!(matches!(reply(Fault::Stall), Reply::Stall(answer) if answer.status() == 200));
    assert!(matches!(reply(Fault::ResetMidway), Reply::ResetMidway(answer) if answer.status() == 200));
}
