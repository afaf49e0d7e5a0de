//! SeriesValue, and the names of external metrics.

use super::*;

#[test]
fn external_series_are_selected_by_their_labels() {
    let world = World::known();
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
            world.items(&format!("{EXTERNAL}/burst_headroom{query}")),
            items,
            "{query}"
        );
    }
    assert_eq!(
        world.items(&format!(
            "{EXTERNAL}/burst_rejected_per_second?labelSelector=service%3Dweb"
        )),
        ["cluster=east,namespace=shop,service=web 500m"]
    );
}

#[test]
fn a_target_whose_kind_is_no_label_has_none() {
    let world = World::known();
    let path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/odd/burst_headroom";
    let items = world.items(&format!("{path}?labelSelector=service%3Db"));
    assert_eq!(items, ["cluster=east,hpa=hpa,namespace=odd,service=b 4"]);
}

#[test]
fn an_external_answer_is_the_references_byte_for_byte() {
    let (_, body) = World::known().ask(get(&format!(
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
fn an_external_name_is_found_in_any_case_and_with_either_slash() {
    let world = World::known();
    for name in [
        "BURST_Headroom",
        "burst%7Cheadroom",
        "burst%5C%7Cheadroom",
        "burst/headroom",
        "Burst%2Fheadroom",
    ] {
        assert_eq!(world.items(&format!("{EXTERNAL}/{name}")).len(), 2, "{name}");
    }
}

#[test]
fn an_unknown_external_metric_is_not_found_or_an_empty_list() {
    let mut world = World::known();
    let request = || get("/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue%7Clength");
    let (status, reason, message) = world.refusal(request());
    assert_eq!((status, reason.as_str()), (404, "NotFound"));
    let start = "the server could not find the external metric queue|length: there are burst_current_load, ";
    assert!(message.starts_with(start), "{message}");
    world.config.metrics_apis.as_mut().unwrap().unknown_external = burst_model::config::UnknownExternal::Empty;
    let (status, body) = world.ask(request());
    assert_eq!(status, 200);
    assert!(body.ends_with("\"items\":[]}\n"), "{body}");
}

#[test]
fn the_age_of_values_is_told() {
    let world = World::known();
    let age = |path: &str| world.reply(get(path)).age;
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
fn without_counting_no_metric_names_requests() {
    let mut world = World::known();
    world.config.metrics_apis.as_mut().unwrap().counting = None;
    assert_eq!(
        world.refusal(get(&format!("{EXTERNAL}/burst_requests_per_second"))).0,
        404
    );
    let counting = Counting {
        scope: Scope::Proxy,
        in_flight: false,
    };
    world.config.metrics_apis.as_mut().unwrap().counting = Some(counting);
    for (metric, status) in [
        ("burst_requests_per_second", 404),
        ("burst_proxy_requests_per_second", 200),
        ("burst_proxy_requests_in_flight", 404),
    ] {
        assert_eq!(world.ask(get(&format!("{EXTERNAL}/{metric}"))).0, status, "{metric}");
    }
}
