//! Tests of the metrics of pods: a value for each pod whose requests are known, and for no other.

use super::*;
use burst_model::index::PODS;
use std::net::IpAddr;

/// The requests are of the 30 s before two seconds after `T0`. An address has to be known three seconds longer.
const LATEST: u64 = 1_700_000_000_000 + 2_000 - 33_000;

/// A pod of `app=web` with these addresses, in hexadecimal digits.
fn pod(name: &str, since: u64, addresses: &str) -> Row {
    Row {
        name: ObjectName::parse(name).unwrap(),
        label: ObjectName::parse(&format!("shop/{since}.{addresses}")).unwrap(),
        load: Load {
            current: 0,
            target: 0,
            max: 0,
        },
        signals: Signals::default(),
        labels: "app=web".into(),
    }
}

/// The requests per second to an address, in thousandths, of which a tenth is rejected.
fn rates(rates: &[(&str, u64)]) -> BTreeMap<IpAddr, ServiceRate> {
    let rate = |requests_milli| ServiceRate {
        requests_milli,
        rejected_milli: requests_milli / 10,
        in_flight_milli: None,
    };
    rates
        .iter()
        .map(|(address, milli)| (address.parse().unwrap(), rate(*milli)))
        .collect()
}

/// A hub that counts by address. `shop/web` has 12.5 requests per second, of which 0.5 are rejected, and `shop/stranger` 1.
fn server(pods: Vec<Row>, addresses: Option<BTreeMap<IpAddr, ServiceRate>>) -> TestServer {
    let mut server = TestServer::synced();
    server.config = config(&format!(
        r#"{CONFIG},"requests":{{"pods":true,"accept":{{"filter_chain":"hub"}}}}"#
    ));
    let mut table = table();
    table.insert(PODS.into(), pods);
    server.cache.take(snapshot::write(&table, 2)).unwrap();
    let Rates::Known(known) = &mut server.rates else {
        panic!("rates")
    };
    known.addresses = addresses;
    server
}

fn shop() -> TestServer {
    server(
        vec![
            pod("shop/a", 1, "0a000001"),
            pod("shop/b", LATEST, "0a000002.fd000000000000000000000000000002"),
            pod("shop/idle", 1, "0a000003"),
            pod("shop/new", LATEST + 1, "0a000004"),
        ],
        Some(rates(&[
            ("10.0.0.1", 8_000),
            ("10.0.0.2", 3_000),
            ("fd00::2", 500),
            ("10.0.0.4", 100),
            ("10.0.0.5", 100),
        ])),
    )
}

const RATE: &str = "burst_requests_per_second";

#[test]
fn each_ready_pod_has_the_requests_to_all_its_addresses_and_a_new_one_has_no_value_yet() {
    let server = shop();
    let all = format!("{CUSTOM}/pods/*/{RATE}?labelSelector=app%3Dweb");
    assert_eq!(server.items(&all), ["a 8", "b 3500m", "idle 0"]);
    let rejected = format!("{CUSTOM}/pods/*/burst_rejected_per_second");
    assert_eq!(server.items(&rejected), ["a 800m", "b 350m", "idle 0"]);
    let item = &server.json(&all)["items"][1];
    let expected = serde_json::json!({
        "describedObject": {"kind": "Pod", "namespace": "shop", "name": "b", "apiVersion": "v1"},
        "metric": {"name": RATE, "selector": null},
        "timestamp": "2023-11-14T22:13:22Z", "windowSeconds": 30, "value": "3500m",
    });
    assert_eq!(*item, expected);
}

#[test]
fn a_pod_can_be_asked_for_by_name() {
    let server = shop();
    let of = |name: &str| format!("{CUSTOM}/pods/{name}/{RATE}");
    assert_eq!(server.items(&of("idle")), ["idle 0"]);
    for name in ["new", "gone"] {
        let message = format!("the server could not find the metric {RATE} for pods {name}");
        assert_eq!(server.error(get(&of(name))), (404, "NotFound".into(), message));
    }
}

#[test]
fn a_selector_selects_pods_by_their_labels() {
    let server = shop();
    for (selector, pods) in [
        ("app%3Dweb", 3),
        ("app%3Dapi", 0),
        ("%21app", 0),
        ("app+in+%28web%2Capi%29", 3),
    ] {
        let path = format!("{CUSTOM}/pods/*/{RATE}?labelSelector={selector}");
        assert_eq!(server.items(&path).len(), pods, "{selector}");
    }
    let elsewhere = format!("/apis/custom.metrics.k8s.io/v1beta2/namespaces/data/pods/*/{RATE}");
    assert_eq!(server.items(&elsewhere), [""; 0]);
}

#[test]
fn pods_have_only_metrics_of_requests_and_are_in_discovery_with_them() {
    let mut server = shop();
    let missing = server.error(get(&format!("{CUSTOM}/pods/*/burst_headroom")));
    let message = "the server could not find the metric burst_headroom for pods".to_owned();
    assert_eq!(missing, (404, "NotFound".into(), message));
    assert_eq!(
        server
            .error(get(&format!("{CUSTOM}/pods/*/burst_requests_in_flight")))
            .0,
        404
    );
    let apis = server.config.metrics_apis.as_mut().unwrap();
    let metric = burst_model::metric::ServedMetric::find(apis.counting, RATE).unwrap();
    apis.aliases.push(("http_requests_per_second".to_owned(), metric));
    let list = server.json("/apis/custom.metrics.k8s.io/v1beta2");
    let names = list["resources"].as_array().unwrap().iter();
    let names = names.filter_map(|resource| resource["name"].as_str()?.strip_prefix("pods/"));
    assert_eq!(
        names.collect::<Vec<_>>(),
        ["burst_rejected_per_second", RATE, "http_requests_per_second"]
    );
    let alias = format!("{CUSTOM}/pods/*/http_requests_per_second");
    assert_eq!(server.items(&alias), ["a 8", "b 3500m", "idle 0"]);
}

/// The status and the message for all pods of `shop`.
fn refusal(server: &TestServer) -> (u16, String) {
    let (status, reason, message) = server.error(get(&format!("{CUSTOM}/pods/*/{RATE}")));
    assert_eq!(reason, "ServiceUnavailable");
    (status, message)
}

#[test]
fn pods_without_known_requests_are_an_error_and_not_zero() {
    let uncounted = server(vec![pod("shop/a", 1, "0a000001")], None);
    let message = "the requests to pods are not known: a proxy does not count them, or there are too many addresses, or \
                   endpoints without one";
    assert_eq!(refusal(&uncounted), (503, message.to_owned()));

    // 12 requests per second were answered for `shop/web` and 1 for `shop/stranger`.
    let to_service_address = server(
        vec![pod("shop/a", 1, "0a000001")],
        Some(rates(&[("10.96.0.1", 13_000), ("10.0.0.1", 6_000)])),
    );
    let message = "fewer than half of the requests to the services of shop went to an address of a known pod";
    assert_eq!(refusal(&to_service_address), (503, message.to_owned()));
    let enough = server(vec![pod("shop/a", 1, "0a000001")], Some(rates(&[("10.0.0.1", 7_300)])));
    assert_eq!(enough.items(&format!("{CUSTOM}/pods/*/{RATE}")), ["a 7300m"]);

    let mut no_pods = shop();
    no_pods.cache.take(snapshot::write(&table(), 3)).unwrap();
    assert_eq!(refusal(&no_pods), (503, "the snapshot has no pods yet".to_owned()));
}

#[test]
fn pods_of_an_old_snapshot_or_of_lists_that_cannot_be_read_are_an_error() {
    let mut server = shop();
    let sources = server.config.content.sources.len();
    let mut lists = vec![Some(T0); sources];
    server.cache.refresh(
        &server.config,
        Some(&Confirmed {
            generation: 2,
            lists: lists.clone(),
        }),
        T0.after(Duration::from_secs(61)),
    );
    assert_eq!(
        refusal(&server),
        (503, "the snapshot is 61s old (limit 60s)".to_owned())
    );
    lists[sources - 2] = None;
    let confirmed = Confirmed { generation: 2, lists };
    server.cache.refresh(&server.config, Some(&confirmed), T0);
    let message = "the pods are not known: cannot list endpointslices.discovery.k8s.io";
    assert_eq!(refusal(&server), (503, message.to_owned()));
    assert_eq!(server.items(&format!("{CUSTOM}/services/web/{RATE}")), ["web 12500m"]);
}
