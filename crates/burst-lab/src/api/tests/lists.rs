//! Lists, pages and single objects.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::*;
use crate::cluster::Resource;

#[test]
fn a_list_has_the_shape_of_a_real_one() {
    let api = api(&["default/web"]);
    let (status, body) = text(&api, ALL_HPAS);
    let start = r#"{"kind":"HorizontalPodAutoscalerList","apiVersion":"autoscaling/v2","metadata":{"resourceVersion":"2"},"items":[{"metadata":{"#;
    assert!(status == 200 && body.starts_with(start), "{body}");
    let item = &serde_json::from_str::<Value>(&body).unwrap()["items"][0];
    assert_eq!(
        item.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["metadata", "spec"]
    );
    assert_eq!(item["metadata"]["resourceVersion"], "2");
}

#[test]
fn an_empty_list_has_an_items_field() {
    let (_, body) = text(
        &api(&[]),
        "/apis/autoscaling/v2/namespaces/nons/horizontalpodautoscalers",
    );
    let real = r#"{"kind":"HorizontalPodAutoscalerList","apiVersion":"autoscaling/v2","metadata":{"resourceVersion":"1"},"items":[]}"#;
    assert_eq!(body, real);
}

#[test]
fn pages_together_hold_every_object_once_as_of_one_version() {
    let api = api(&["a/1", "a/2", "b/3", "b/4", "c/5"]);
    let first = get(&api, &format!("{ALL_HPAS}?limit=2"));
    assert_eq!(first["metadata"]["remainingItemCount"], 3);
    api.cluster.delete(HPAS, "b/3");
    api.cluster.set_current_replicas("b/4", 3).unwrap();
    let token = first["metadata"]["continue"].as_str().unwrap();
    let second = get(&api, &format!("{ALL_HPAS}?limit=2&continue={token}"));
    assert_eq!(names(&second), ["3", "4"]);
    assert_eq!(second["items"][1].get("status"), None);
    assert_eq!(
        second["metadata"]["resourceVersion"],
        first["metadata"]["resourceVersion"]
    );
    let token = second["metadata"]["continue"].as_str().unwrap();
    let last = get(&api, &format!("{ALL_HPAS}?limit=2&continue={token}"));
    assert_eq!((names(&last), last["metadata"].get("continue")), (vec!["5"], None));
}

#[test]
fn the_list_of_one_namespace_is_paged() {
    let api = api(&["a/1", "b/2", "b/3", "c/4"]);
    let path = "/apis/autoscaling/v2/namespaces/b/horizontalpodautoscalers";
    let first = get(&api, &format!("{path}?limit=1"));
    let token = first["metadata"]["continue"].as_str().unwrap();
    let last = get(&api, &format!("{path}?limit=1&continue={token}"));
    assert_eq!((names(&first), names(&last)), (vec!["2"], vec!["3"]));
    assert_eq!(last["metadata"].get("continue"), None);
}

#[test]
fn an_expired_token_is_gone_and_its_response_has_a_token_to_continue_with() {
    let api = api(&["a/1", "a/2", "a/3"]);
    let first = get(&api, &format!("{ALL_HPAS}?limit=1"));
    api.cluster.compact();
    let token = first["metadata"]["continue"].as_str().unwrap();
    let gone = get(&api, &format!("{ALL_HPAS}?limit=1&continue={token}"));
    assert_eq!((&gone["code"], &gone["reason"]), (&json!(410), &json!("Expired")));
    assert!(
        gone["message"]
            .as_str()
            .unwrap()
            .starts_with("The provided continue parameter is too old to display")
    );
    let on = gone["metadata"]["continue"].as_str().unwrap();
    let decoded: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(on).unwrap()).unwrap();
    assert_eq!(decoded, json!({ "v": "meta.k8s.io/v1", "rv": -1, "start": "a/1\u{0}" }));
    assert_eq!(names(&get(&api, &format!("{ALL_HPAS}?continue={on}"))), ["2", "3"]);
}

#[test]
fn an_invalid_continue_token_is_a_bad_request() {
    let api = api(&["a/1"]);
    let strange = URL_SAFE_NO_PAD.encode(r#"{"v":"meta.k8s.io/v1"}"#);
    let wrong = get(&api, &format!("{ALL_HPAS}?continue={strange}"));
    let real = "invalid continue token: continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)";
    assert_eq!((&wrong["message"], &wrong["code"]), (&json!(real), &json!(400)));
    assert_eq!(get(&api, &format!("{ALL_HPAS}?continue=%2B%2B"))["code"], 400);
}

#[test]
fn selectors_filter_and_hide_the_remaining_count() {
    let api = api(&["a/1", "a/2", "b/3"]);
    let chosen = get(&api, &format!("{ALL_HPAS}?limit=1&labelSelector=name%20in%20(2,3)"));
    assert_eq!(names(&chosen), ["2"]);
    assert_eq!(chosen["metadata"].get("remainingItemCount"), None);
    assert!(chosen["metadata"]["continue"].is_string());
    assert_eq!(
        names(&get(&api, &format!("{ALL_HPAS}?fieldSelector=metadata.namespace=b"))),
        ["3"]
    );
}

#[test]
fn a_custom_resource_is_served_once_registered_and_says_its_kind_in_each_item() {
    let api = api(&[]);
    api.cluster
        .register(Resource::custom("argoproj.io", "v1alpha1", "rollouts", "Rollout"));
    let rollout = json!({ "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": { "name": "web" } });
    api.cluster.apply(rollout).unwrap();
    let list = get(&api, "/apis/argoproj.io/v1alpha1/rollouts");
    assert_eq!(
        (&list["kind"], &list["items"][0]["kind"]),
        (&json!("RolloutList"), &json!("Rollout"))
    );
}

#[test]
fn one_object_is_read_by_its_name() {
    let hpa = get(
        &api(&["a/1"]),
        "/apis/autoscaling/v2/namespaces/a/horizontalpodautoscalers/1",
    );
    assert_eq!(
        (&hpa["kind"], &hpa["metadata"]["name"]),
        (&json!("HorizontalPodAutoscaler"), &json!("1"))
    );
}

#[test]
fn curl_gets_indented_json_and_a_filter_does_not() {
    let api = api(&["a/1"]);
    let mut curl = request(ALL_HPAS);
    curl.headers_mut().insert("user-agent", "curl/8.5.0".parse().unwrap());
    let lines = |answer: Response<Bytes>| answer.into_body().iter().filter(|byte| **byte == b'\n').count();
    assert!(lines(complete(api.handle(&curl))) > 5);
    assert_eq!(lines(complete(api.handle(&request(ALL_HPAS)))), 0);
}

#[test]
fn key_order_is_that_of_etcd() {
    let api = api(&["a/z", "a-b/x", "b/a"]);
    let list = get(&api, ALL_HPAS);
    let namespaces: Vec<_> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| i["metadata"]["namespace"].as_str().unwrap())
        .collect();
    assert_eq!(namespaces, ["a-b", "a", "b"]);
}
