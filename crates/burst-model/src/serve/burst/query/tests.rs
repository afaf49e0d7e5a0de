use super::*;
use crate::peers::tests as peers;
use crate::serve::burst::path;
use proptest::prelude::*;

fn query(path: &str) -> Result<BurstQuery, String> {
    let target = path::parse(path.as_bytes()).unwrap();
    parse(path.as_bytes(), &target, SignalSet::ALL, None).map_err(|error| error.to_string())
}

#[test]
fn the_wait_is_a_parameter_of_the_query() {
    let refused = Err("the parameter wait is not a duration such as 500ms, 15s, 2m or 1h30m");
    for (path, expected) in [
        ("/services", Ok(None)),
        ("/services?", Ok(None)),
        ("/services?watch=1", Ok(None)),
        ("/services?await=1s", Ok(None)),
        ("/wait=1s", Ok(None)),
        ("/services#?wait=1s", Ok(None)),
        ("/services?wait=10s", Ok(Some(10_000))),
        ("/services/?a=b&wait=1m30s&wait=1s", Ok(Some(90_000))),
        ("/services?wait=500%6Ds", Ok(Some(500))),
        ("/services?wait=0s#x", Ok(Some(0))),
        ("/services?wait=", refused),
        ("/services?wait=10", refused),
        ("/services?wait=-1s", refused),
        ("/services?wait=%ff", refused),
    ] {
        let wait = query(path).map(|query| query.wait);
        let expected = expected.map(|wait| wait.map(Duration::from_millis));
        assert_eq!(
            wait.as_ref().map_err(String::as_str),
            expected.as_ref().map_err(|text| *text),
            "{path}"
        );
    }
}

#[test]
fn the_format_is_a_parameter_of_the_query() {
    let object = |datacenter, resource: Option<&str>| {
        Some(Format::Gtm(LoadObject {
            domain: "example.akadns.net".into(),
            datacenter,
            resource: resource.map(Into::into),
        }))
    };
    let east = || DatacenterKey::Name("east & co".into());
    for (path, expected) in [
        ("/services", None),
        ("/services?formats=json", None),
        ("/services?wait=1s&format=json", Some(Format::Json(SignalSet::ALL))),
        (
            "/services/shop/web?format=json&format=weight",
            Some(Format::Json(SignalSet::ALL)),
        ),
        ("/hpas?format=prometheus#x", Some(Format::Prometheus(SignalSet::ALL))),
        ("/services/shop/web?format=weight", Some(Format::Weight)),
        (
            "/services?format=gtm&domain=example.akadns.net&datacenter=east%20%26%20co",
            object(east(), None),
        ),
        (
            "/services?datacenterId=100&domain=example.akadns.net&format=gtm",
            object(DatacenterKey::Id(100), None),
        ),
        (
            "/services/shop/web?format=gtm&domain=example.akadns.net&datacenter=east%20%26%20co&resource=replicas",
            object(east(), Some("replicas")),
        ),
    ] {
        assert_eq!(query(path).unwrap().view, BurstView::OwnCluster(expected), "{path}");
    }
}

#[test]
fn a_format_that_cannot_be_answered_is_refused_in_words() {
    const UNKNOWN: &str =
        "and must be one of gtm, json, prometheus, weight; without it the answer is what the header says";
    const GTM: &str = "format=gtm needs the parameter domain, the GTM domain, and either datacenter, the name of the data \
                       center, or datacenterId, its number";
    for (path, message) in [
        (
            "/services?format=xml",
            format!("the parameter format is \"xml\", {UNKNOWN}"),
        ),
        ("/services?format=", format!("the parameter format is \"\", {UNKNOWN}")),
        (
            "/services?format=JSON",
            format!("the parameter format is \"JSON\", {UNKNOWN}"),
        ),
        (
            "/services?format=\u{1b}[2J",
            format!("the parameter format is \"␛[2J\", {UNKNOWN}"),
        ),
        (
            "/services?format=weight",
            "format=weight is one number: ask for one object, with KIND/NAMESPACE/NAME".into(),
        ),
        ("/services?format=gtm", GTM.into()),
        ("/services?format=gtm&domain=a.b", GTM.into()),
        ("/services?format=gtm&datacenter=east", GTM.into()),
        (
            "/services?format=gtm&domain=a.b&datacenter=east&datacenterId=1",
            GTM.into(),
        ),
        (
            "/services?format=gtm&domain=a.b&datacenterId=x",
            "the parameter datacenterId must be a whole number below 4294967296".into(),
        ),
        (
            "/services?format=gtm&domain=a.b&datacenterId=4294967296",
            "the parameter datacenterId must be a whole number below 4294967296".into(),
        ),
        (
            "/services?format=gtm&domain=%00&datacenter=east",
            "the parameter domain must be a text of 1 to 253 bytes without control characters".into(),
        ),
        (
            "/services?format=gtm&domain=a.b&datacenter=",
            "the parameter datacenter must be a text of 1 to 253 bytes without control characters".into(),
        ),
        (
            "/services?format=gtm&domain=a.b&datacenter=%ff",
            "the parameter datacenter must be a text of 1 to 253 bytes without control characters".into(),
        ),
        (
            "/services?format=gtm&domain=a.b&datacenter=east&resource=r",
            "the parameter resource names one object: ask for KIND/NAMESPACE/NAME".into(),
        ),
    ] {
        assert_eq!(query(path).unwrap_err(), message, "{path}");
    }
}

#[test]
fn the_scope_is_a_parameter_of_the_query() {
    let config = peers::config(&["west"], "");
    let view = |path: &str, peers| {
        let target = path::parse(path.as_bytes()).unwrap();
        let query = parse(path.as_bytes(), &target, SignalSet::ALL, peers);
        query.map(|query| query.view).map_err(|error| error.to_string())
    };
    let with_peers = |path| view(path, config.peers.as_deref());
    let (json, prometheus) = (
        ClustersFormat::Json(SignalSet::ALL),
        ClustersFormat::Prometheus(SignalSet::ALL),
    );
    for (path, format) in [
        ("/services?scope=all&format=json", json),
        ("/services/shop/web?format=json&scope=all", json),
        ("/services?wait=1s&scope=all&format=prometheus#x", prometheus),
    ] {
        assert_eq!(with_peers(path), Ok(BurstView::AllClusters(format)), "{path}");
    }
    assert_eq!(with_peers("/services?scopes=all"), Ok(BurstView::OwnCluster(None)));
    const FORMAT: &str =
        "scope=all is answered in format=json and format=prometheus, because a line of text has no place for clusters";
    for (path, message) in [
        ("/services?scope=all", FORMAT),
        ("/services/shop/web?scope=all&format=weight", FORMAT),
        ("/services?scope=all&format=gtm&domain=a.b&datacenterId=1", FORMAT),
        ("/services?scope=all&format=xml", FORMAT),
        (
            "/hpas?scope=all&format=json",
            "scope=all is answered for services: of other clusters nothing else is read",
        ),
        (
            "/services?scope=west&format=json",
            "the parameter scope must be \"all\"; without it the answer is about the own cluster",
        ),
    ] {
        assert_eq!(with_peers(path), Err(message.to_owned()), "{path}");
    }
    assert_eq!(
        view("/services?scope=all&format=json", None).unwrap_err(),
        "scope=all needs other clusters to read, and this proxy has no peers in its configuration"
    );
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_panic(path in proptest::collection::vec(any::<u8>(), 0..64)) {
        let target = BurstPath::Bulk { kind: "services".into() };
        let config = peers::config(&["west"], "");
        let peers = config.peers.as_deref();
        let _ = parse(&path, &target, SignalSet::ALL, peers);
        let _ = parse(&[b"?format=gtm&domain=", &*path].concat(), &target, SignalSet::ALL, peers);
    }
}
