use super::*;
use crate::config::Artifact;
use crate::policies::EffectivePolicies;
use crate::rates::Rates;
use crate::time::Time;
use crate::view::Picture;
use proptest::prelude::*;

fn config(fallback: &str) -> Config {
    let config = format!(r#"{{"cluster":"k","metrics_apis":{{"filter_chain":"m","fallback":{fallback}}}}}"#);
    Config::parse(config.as_bytes(), Artifact::Full).unwrap()
}

/// Whether it goes on, or the status of the answer.
fn goes(config: &Config, path: &str, user: &str) -> Result<bool, u16> {
    let sources = Sources {
        picture: &Picture::default(),
        rates: &Rates::default(),
        offers: &Offers::default(),
        enforced: &EffectivePolicies::default(),
        now: Time::from_unix_millis(0),
    };
    let request = Request {
        method: b"GET",
        path: path.as_bytes(),
        accept: b"",
        if_none_match: b"",
        user: user.as_bytes(),
        groups: &[],
    };
    let apis = config.metrics_apis.as_ref().unwrap();
    goes_on(config, apis, sources, request).map_err(|answer| answer.status)
}

fn passes(fallback: &str, path: &str) -> bool {
    goes(&config(fallback), path, "alice").unwrap()
}

const BOTH: &str = r#"{"custom":{"cluster":"a"},"external":{"cluster":"b"}}"#;
const CUSTOM: &str = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop";
const EXTERNAL: &str = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop";

#[test]
fn names_that_are_ours_are_ours_and_the_rest_goes_on() {
    for (path, on) in [
        (format!("{CUSTOM}/pods/*/http_requests"), true),
        (format!("{CUSTOM}/services/web/http_requests"), true),
        (format!("{CUSTOM}/metrics/http_requests"), true),
        ("/apis/custom.metrics.k8s.io/v1beta1/nodes/a/load".into(), true),
        (format!("{CUSTOM}/pods/*/burst_headroom"), false),
        (format!("{CUSTOM}/services/web/burst_headroom"), false),
        (format!("{EXTERNAL}/queue_length?labelSelector=a"), true),
        (format!("{EXTERNAL}/s0-rabbitmq/more"), true),
        (format!("{EXTERNAL}/BURST%7Cheadroom"), false),
        (format!("{EXTERNAL}/burst/headroom"), false),
        (format!("{EXTERNAL}/burst_no_such"), true),
        (format!("{CUSTOM}/pods"), false),
        ("/apis/custom.metrics.k8s.io/v1beta2".into(), false),
        ("/openapi/v2".into(), false),
        ("/apis/apps/v1/namespaces/a/deployments".into(), false),
        ("/%ff".into(), false),
    ] {
        assert_eq!(passes(BOTH, &path), on, "{path}");
    }
}

#[test]
fn each_group_has_its_own_adapter_or_none() {
    let one = r#"{"external":{"cluster":"keda"}}"#;
    assert!(passes(one, &format!("{EXTERNAL}/queue_length")));
    assert!(!passes(one, &format!("{CUSTOM}/pods/*/http_requests")));
    assert!(!passes("{}", &format!("{EXTERNAL}/queue_length")));
    let config = config(one);
    let asked: Vec<_> = asked(config.metrics_apis.as_ref().unwrap())
        .map(|(api, adapter)| (path(api), adapter.cluster.clone()))
        .collect();
    assert_eq!(asked, [("/apis/external.metrics.k8s.io/v1beta1".into(), "keda".into())]);
}

#[test]
fn nobody_goes_on_without_a_name() {
    assert_eq!(goes(&config(BOTH), &format!("{EXTERNAL}/queue_length"), " "), Ok(false));
}

#[test]
fn a_policy_is_for_the_metrics_of_another_adapter_too() {
    let policies = r#"[{"name":"p","rules":[
        {"metric":"queue_.*","selector":{"matchLabels":{"queue":"a"}}},{"metric":".*","deny":true}]}]"#;
    let json = format!(
        r#"{{"cluster":"k","metrics_apis":{{"filter_chain":"m","fallback":{BOTH},"policies":{{"given":{policies}}}}}}}"#
    );
    let config = Config::parse(json.as_bytes(), Artifact::Full).unwrap();
    for (path, expected) in [
        (format!("{EXTERNAL}/queue_length?labelSelector=queue%3Da"), Ok(true)),
        (format!("{EXTERNAL}/queue_length"), Err(403)),
        (format!("{EXTERNAL}/Queue_Length?labelSelector=queue"), Err(403)),
        (format!("{EXTERNAL}/other?labelSelector=queue%3Da"), Err(403)),
        (format!("{EXTERNAL}/queue_length?labelSelector=a%3D%3D%3Db"), Err(400)),
        (
            format!("{EXTERNAL}/../other/queue_length?labelSelector=queue%3Da"),
            Ok(false),
        ),
        (
            format!("{EXTERNAL}/queue_length%2F..%2Fother?labelSelector=queue%3Da"),
            Ok(false),
        ),
        (format!("{EXTERNAL}/burst_headroom"), Ok(false)),
        (format!("{CUSTOM}/pods/*/requests"), Ok(true)),
    ] {
        assert_eq!(goes(&config, &path, "alice"), expected, "{path}");
    }
}

fn list(resources: &str) -> String {
    format!(r#"{{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"g/v","resources":[{resources}]}}"#)
}

fn offer(name: &str, namespaced: bool) -> String {
    format!(
        r#"{{"name":"{name}","singularName":"","namespaced":{namespaced},"kind":"MetricValueList","verbs":["get"]}}"#
    )
}

fn offers(resources: &[(&str, bool)]) -> Vec<Offer> {
    let all: Vec<_> = resources
        .iter()
        .map(|(name, namespaced)| offer(name, *namespaced))
        .collect();
    read(Some(200), list(&all.join(",")).as_bytes()).unwrap()
}

#[test]
fn what_an_adapter_says_is_read_or_is_nothing() {
    let whole = list(&offer("pods/a", true));
    assert_eq!(read(Some(200), whole.as_bytes()).map(|offers| offers.len()), Ok(1));
    assert_eq!(read(Some(404), b"404 page not found"), Ok(vec![]));
    for (status, body, why) in [
        (None, "", Unlisted::NoAnswer),
        (Some(503), whole.as_str(), Unlisted::Status(503)),
        (Some(401), "", Unlisted::Status(401)),
        (Some(200), &whole[..60], Unlisted::Malformed),
        (Some(200), r#"{"kind":"Status","resources":[]}"#, Unlisted::Malformed),
        (Some(200), &list(&offer("", true)), Unlisted::Malformed),
        (
            Some(200),
            &list(&vec![offer("pods/a", true); 10_001].join(",")),
            Unlisted::TooLong(10_001),
        ),
    ] {
        assert_eq!(read(status, body.as_bytes()), Err(why), "{body:.80}");
    }
    let long = " ".repeat(5 << 20);
    assert_eq!(read(Some(200), long.as_bytes()), Err(Unlisted::TooLong(5 << 20)));
}

#[test]
fn a_resource_lives_in_namespaces_or_does_not_whoever_lists_it() {
    let mut all = Offers::default();
    let theirs = offers(&[
        ("pods/a", true),
        ("pods/b", false),
        ("services/a", false),
        ("services/burst_headroom", true),
        ("services/b", true),
        ("nodes/a", false),
        ("pods/a", true),
        ("/custommetrics", false),
    ]);
    assert!(all.put(Api::CustomV1Beta2, Ok(theirs.clone())));
    assert!(!all.put(Api::CustomV1Beta2, Ok(theirs)), "the same");
    let ours = [discovery::Resource {
        name: "services/burst_headroom".to_owned(),
        namespaced: true,
        kind: "MetricValueList".to_owned(),
        is_metric: true,
    }];
    let names = |api| {
        all.beside(api, &ours)
            .iter()
            .map(|offer| offer.name.as_str())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(Api::CustomV1Beta2), ["pods/a", "services/b", "nodes/a"]);
    assert!(names(Api::CustomV1Beta1).is_empty());
}

#[test]
fn offers_are_kept_as_they_are() {
    let mut all = Offers::default();
    assert!(!all.put(Api::External, Ok(vec![])), "nothing is what there was");
    all.put(Api::External, Ok(offers(&[("queue", true)])));
    assert_eq!(Offers::from_bytes(&all.to_bytes()), Some(all.clone()));
    assert!(all.put(Api::External, Ok(vec![])));
}

#[test]
fn what_fails_is_kept_for_the_next_leader() {
    let mut all = Offers::default();
    all.put(Api::External, Ok(offers(&[("queue", true)])));
    assert!(all.put(Api::External, Err(Unlisted::Status(503))));
    assert!(all.beside(Api::External, &[]).is_empty());
    let mut next = Offers::from_bytes(&all.to_bytes()).unwrap();
    assert_eq!(next.trouble(Api::External), Some(&Unlisted::Status(503)));
    assert!(!next.put(Api::External, Err(Unlisted::Status(503))), "the same");
    assert!(next.put(Api::External, Err(Unlisted::NoAnswer)));
    assert!(next.put(Api::External, Ok(vec![])));
    assert_eq!(next.trouble(Api::External), None);
}

proptest! {
    #[test]
    fn arbitrary_lists_are_survived(body in proptest::collection::vec(any::<u8>(), 0..128), bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = read(Some(200), &body);
        let _ = Offers::from_bytes(&bytes);
    }
}
