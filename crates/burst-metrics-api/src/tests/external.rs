//! Tests of external metrics: their series and their names.

use super::*;

#[test]
fn series_are_selected_by_their_labels() {
    let server = TestServer::synced();
    let web = "cluster=east,deployment=web,hpa=web,namespace=shop,service=web 4";
    let web_2 = "cluster=east,deployment=web,hpa=web,namespace=shop,service=web-2 4";
    let api = "cluster=east,deployment=api,hpa=api,namespace=shop 2";
    let all = "cluster%3Deast%2Cdeployment%3Dweb%2Chpa%3Dweb%2Cnamespace%3Dshop%2Cservice%3Dweb";
    for (query, items) in [
        ("", &[api, web][..]),
        ("?labelSelector=deployment%3Dweb", &[web]),
        ("?labelSelector=service%3Dweb-2", &[web_2]),
        (&format!("?labelSelector={all}"), &[web]),
        ("?labelSelector=%21service", &[api]),
        ("?labelSelector=namespace%3Ddata", &[]),
        ("?labelSelector=cluster%21%3Deast", &[]),
        ("?labelSelector=statefulset", &[]),
    ] {
        assert_eq!(
            server.items(&format!("{EXTERNAL}/burst_headroom{query}")),
            items,
            "{query}"
        );
    }
    assert_eq!(
        server.items(&format!(
            "{EXTERNAL}/burst_rejected_per_second?labelSelector=service%3Dweb"
        )),
        ["cluster=east,namespace=shop,service=web 500m"]
    );
}

#[test]
fn a_scale_target_whose_kind_is_not_a_label_key_has_no_label() {
    let server = TestServer::synced();
    let path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/odd/burst_headroom";
    let items = server.items(&format!("{path}?labelSelector=service%3Db"));
    assert_eq!(items, ["cluster=east,hpa=hpa,namespace=odd,service=b 4"]);
}

#[test]
fn an_answer_equals_the_references_byte_for_byte() {
    let (_, body) = TestServer::synced().status_and_body(get(&format!(
        "{EXTERNAL}/burst_requests_per_second?labelSelector=service%3Dweb"
    )));
    assert_eq!(
        body,
        "{\"kind\":\"ExternalMetricValueList\",\"apiVersion\":\"external.metrics.k8s.io/v1beta1\",\
         \"metadata\":{\"resourceVersion\":\"1700000002000\"},\"items\":[{\"metricName\":\"burst_requests_per_second\",\
         \"metricLabels\":{\"cluster\":\"east\",\"namespace\":\"shop\",\"service\":\"web\"},\
         \"timestamp\":\"2023-11-14T22:13:22Z\",\"window\":30,\"value\":\"12500m\"}]}\n"
    );
}

#[test]
fn a_metric_name_may_have_any_case_and_any_form_of_the_slash() {
    let server = TestServer::synced();
    for name in [
        "BURST_Headroom",
        "burst%7Cheadroom",
        "burst%5C%7Cheadroom",
        "burst/headroom",
        "Burst%2Fheadroom",
    ] {
        assert_eq!(server.items(&format!("{EXTERNAL}/{name}")).len(), 2, "{name}");
    }
}

#[test]
fn an_unknown_external_metric_is_not_found_or_an_empty_list() {
    let mut server = TestServer::synced();
    let request = || get("/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue%7Clength");
    let (status, reason, message) = server.error(request());
    assert_eq!((status, reason.as_str()), (404, "NotFound"));
    let start = "the server could not find the external metric queue|length: there are burst_current_load, ";
    assert!(message.starts_with(start), "{message}");
    server.config.metrics_apis.as_mut().unwrap().unknown_external = burst_model::config::UnknownExternal::Empty;
    let (status, body) = server.status_and_body(request());
    assert_eq!(status, 200);
    assert!(body.ends_with("\"items\":[]}\n"), "{body}");
}

#[test]
fn a_response_has_the_age_of_its_values() {
    let server = TestServer::synced();
    let age = |path: &str| server.response(get(path)).value_age;
    let seconds = Duration::from_secs;
    let headroom = format!("{CUSTOM}/services/*/burst_headroom");
    assert_eq!(age(&headroom), Some((ApiVersion::CustomV1Beta2, seconds(5))));
    assert_eq!(
        age(&format!("{EXTERNAL}/burst_requests_in_flight")),
        Some((ApiVersion::ExternalV1Beta1, seconds(3)))
    );
    assert_eq!(age("/apis"), None);
}

#[test]
fn metrics_of_requests_exist_only_if_requests_are_counted() {
    let mut server = TestServer::synced();
    server.config.metrics_apis.as_mut().unwrap().counting = None;
    assert_eq!(
        server.error(get(&format!("{EXTERNAL}/burst_requests_per_second"))).0,
        404
    );
    let counting = CountingSettings {
        scope: RateScope::Proxy,
        in_flight: false,
        pods: false,
    };
    server.config.metrics_apis.as_mut().unwrap().counting = Some(counting);
    for (metric, status) in [
        ("burst_requests_per_second", 404),
        ("burst_proxy_requests_per_second", 200),
        ("burst_proxy_requests_in_flight", 404),
    ] {
        assert_eq!(
            server.status_and_body(get(&format!("{EXTERNAL}/{metric}"))).0,
            status,
            "{metric}"
        );
    }
}
