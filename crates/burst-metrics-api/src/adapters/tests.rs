use super::*;
use proptest::prelude::*;

fn list(resources: &str) -> String {
    format!(r#"{{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"g/v","resources":[{resources}]}}"#)
}

fn resource(name: &str, namespaced: bool) -> String {
    format!(
        r#"{{"name":"{name}","singularName":"","namespaced":{namespaced},"kind":"MetricValueList","verbs":["get"]}}"#
    )
}

fn resources(resources: &[(&str, bool)]) -> Vec<AdapterResource> {
    let all: Vec<_> = resources
        .iter()
        .map(|(name, namespaced)| resource(name, *namespaced))
        .collect();
    read_resource_list(Some(200), list(&all.join(",")).as_bytes()).unwrap()
}

#[test]
fn a_resource_list_is_read_whole_or_refused() {
    let whole = list(&resource("pods/a", true));
    assert_eq!(
        read_resource_list(Some(200), whole.as_bytes()).map(|resources| resources.len()),
        Ok(1)
    );
    assert_eq!(read_resource_list(Some(404), b"404 page not found"), Ok(vec![]));
    for (status, body, why) in [
        (None, "", AdapterDiscoveryError::NoAnswer),
        (Some(503), whole.as_str(), AdapterDiscoveryError::Status(503)),
        (Some(401), "", AdapterDiscoveryError::Status(401)),
        (Some(200), &whole[..60], AdapterDiscoveryError::Malformed),
        (
            Some(200),
            r#"{"kind":"Status","resources":[]}"#,
            AdapterDiscoveryError::Malformed,
        ),
        (Some(200), &list(&resource("", true)), AdapterDiscoveryError::Malformed),
        (
            Some(200),
            &list(&vec![resource("pods/a", true); 10_001].join(",")),
            AdapterDiscoveryError::TooLong(10_001),
        ),
    ] {
        assert_eq!(read_resource_list(status, body.as_bytes()), Err(why), "{body:.80}");
    }
    let long = " ".repeat(5 << 20);
    assert_eq!(
        read_resource_list(Some(200), long.as_bytes()),
        Err(AdapterDiscoveryError::TooLong(5 << 20))
    );
}

#[test]
fn all_subresources_of_a_resource_have_the_same_scope() {
    let mut all = AdapterResources::default();
    let theirs = resources(&[
        ("pods/a", true),
        ("pods/b", false),
        ("services/a", false),
        ("services/burst_headroom", true),
        ("services/b", true),
        ("nodes/a", false),
        ("pods/a", true),
        ("/custommetrics", false),
    ]);
    assert!(all.update(ApiVersion::CustomV1Beta2, Ok(theirs.clone())));
    assert!(!all.update(ApiVersion::CustomV1Beta2, Ok(theirs)), "it is unchanged");
    let names = |api| {
        all.listed_beside(api, [("services/burst_headroom", true)])
            .iter()
            .map(|resource| resource.name.as_str())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(ApiVersion::CustomV1Beta2), ["pods/a", "services/b", "nodes/a"]);
    assert!(names(ApiVersion::CustomV1Beta1).is_empty());
}

#[test]
fn adapter_resources_survive_serialization() {
    let mut all = AdapterResources::default();
    assert!(
        all.update(ApiVersion::ExternalV1Beta1, Ok(vec![])),
        "a list without resources differs from one that was not read"
    );
    all.update(ApiVersion::ExternalV1Beta1, Ok(resources(&[("queue", true)])));
    assert!(!all.update(ApiVersion::ExternalV1Beta1, Ok(resources(&[("queue", true)]))));
    assert_eq!(AdapterResources::from_bytes(&all.to_bytes()), Some(all.clone()));
    assert!(all.update(ApiVersion::ExternalV1Beta1, Ok(vec![])));
}

#[test]
fn an_error_survives_serialization() {
    let mut all = AdapterResources::default();
    all.update(ApiVersion::ExternalV1Beta1, Ok(resources(&[("queue", true)])));
    assert!(all.update(ApiVersion::ExternalV1Beta1, Err(AdapterDiscoveryError::Status(503))));
    assert!(all.listed_beside(ApiVersion::ExternalV1Beta1, []).is_empty());
    let mut next = AdapterResources::from_bytes(&all.to_bytes()).unwrap();
    assert_eq!(
        next.error(ApiVersion::ExternalV1Beta1),
        Some(&AdapterDiscoveryError::Status(503))
    );
    assert!(
        !next.update(ApiVersion::ExternalV1Beta1, Err(AdapterDiscoveryError::Status(503))),
        "it is unchanged"
    );
    assert!(next.update(ApiVersion::ExternalV1Beta1, Err(AdapterDiscoveryError::NoAnswer)));
    assert!(next.update(ApiVersion::ExternalV1Beta1, Ok(vec![])));
    assert_eq!(next.error(ApiVersion::ExternalV1Beta1), None);
}

proptest! {
    #[test]
    fn arbitrary_lists_do_not_panic(body in proptest::collection::vec(any::<u8>(), 0..128), bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = read_resource_list(Some(200), &body);
        let _ = AdapterResources::from_bytes(&bytes);
    }
}
