//! Two proxies: a hub that reads the cluster, and a spoke that reads the hub.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use burst_lab::{api::Reply, server::Handler};
use burst_testkit::{
    Version,
    filter::{
        Backend, Client, Module, NGSA_1, NGSA_1_CLUSTER, PATIENCE, Plugin, Proxy, TlsIdentity, UpstreamProtocol,
        cluster, serve,
    },
    http::Request,
    port, wait,
};
use bytes::Bytes;
use serde_json::{Value, json};

on_each_envoy!(
    a_spoke_serves_the_answers_of_its_hub_and_reads_nothing_else,
    the_last_snapshot_of_a_lost_hub_is_served_until_it_is_too_old,
    a_spoke_of_a_hub_that_stopped_reading_is_stale_by_its_own_limit,
    a_spoke_reads_and_reports_through_one_mutual_tls_cluster,
    a_change_at_the_api_server_reaches_a_spoke_by_its_long_poll,
    a_spoke_of_an_older_hub_polls_once_per_interval,
    a_spoke_moves_to_the_next_hub_while_its_request_waits,
);

/// The filter as a spoke, with additional keys. Drops the keys of [`Plugin::new`] that only a hub needs.
fn spoke(more: Value) -> Plugin {
    let mut keys = json!({
        "source": "hub",
        "cluster": "hub",
        "poll_interval": "1s",
        "request_timeout": "60s",
        "clusters": [{"name": "{service}.{namespace}"}],
    });
    match (&mut keys, more) {
        (Value::Object(keys), Value::Object(more)) => keys.extend(more),
        (_, more) => panic!("{more} are no keys"),
    }
    Plugin::written("main", &keys.to_string())
}

fn ngsa_1() -> Request {
    Request::to(NGSA_1_CLUSTER)
}

fn a_spoke_serves_the_answers_of_its_hub_and_reads_nothing_else(version: Version) {
    let (backend, elsewhere) = (Backend::sample(), Backend::sample());
    let (hub, mut of_hub) = Proxy::start(version, &backend, json!({}));
    let proxy = Proxy::of(version)
        .plugin(spoke(json!({})))
        .cluster(cluster("hub", hub.envoy.listener("main").port()))
        .start(&elsewhere);
    let mut of_spoke = proxy.client("main");
    of_spoke.wait_for_header(&ngsa_1(), Some(NGSA_1));
    // The spoke has read one of the hub's workers; the other may be a tick behind.
    of_hub.wait_for_header(&ngsa_1(), Some(NGSA_1));
    let services = Request::get("/burstmetrics/services");
    let bulk = |client: &mut Client| {
        let answer = client.ask(&services);
        let tag = answer.header("etag").map(str::to_owned);
        (answer.status, answer.body, tag)
    };
    assert_eq!(bulk(&mut of_spoke), bulk(&mut of_hub));
    hub.wait_for_stat("burst_reply_304_total", |count| count >= 3);
    let generation = proxy.stat("burst_snapshot_generation");
    assert_eq!(generation, 1, "what is unchanged is not published again");

    backend.scale_ngsa_1(3);
    let risen = NGSA_1.replace("current-load=1", "current-load=3");
    of_hub.wait_for_header(&ngsa_1(), Some(&risen));
    of_spoke.wait_for_header(&ngsa_1(), Some(&risen));
    let refused = of_spoke.ask(&Request::get("/burstmetrics/hpas"));
    assert_eq!(refused.status, 404);
    assert!(
        refused
            .body
            .contains("this proxy reads a hub, which serves nothing else"),
        "{}",
        refused.body
    );
    assert_eq!(elsewhere.api.requests.counts().total, 0, "the API beside the spoke");
}

fn the_last_snapshot_of_a_lost_hub_is_served_until_it_is_too_old(version: Version) {
    let backend = Backend::sample();
    let port = port::free();
    let hub = || {
        Proxy::of(version)
            .plugin(Plugin::new("main", json!({})).port(port))
            .start(&backend)
    };
    let first = hub();
    let proxy = Proxy::of(version)
        // A watch of the hub, and a tick each of its worker, of the spoke's leader and of the spoke's workers, take six
        // seconds.
        .plugin(spoke(json!({"max_staleness": "10s"})).module(Module::HeaderOnly))
        .cluster(cluster("hub", port))
        .start(&backend);
    let mut main = proxy.client("main");
    main.wait_for_header(&ngsa_1(), Some(NGSA_1));
    proxy.wait_for_main_thread();
    drop(first);
    let gone = main.first_without_header(&ngsa_1());
    main.wait_for_header(&ngsa_1(), None);
    let read = proxy.stat("burst_snapshot_timestamp_seconds");
    assert!(read > 0 && read <= gone - 10, "of {read}, and gone at {gone}");
    proxy.wait_for_stat("burst_header_absent_stale_total", |count| count > 0);
    proxy.wait_for_stat("burst_poll_unreachable_total", |count| count >= 2);
    let lines = proxy.log_lines("cannot read the hub hub: it cannot be reached: ");
    assert_eq!(lines.len(), 1, "{lines:?}");
    let _second = hub();
    main.wait_for_header(&ngsa_1(), Some(NGSA_1));
    let words = "reading the hub hub works again";
    wait::until(PATIENCE, words, || proxy.log_lines(words).len() == 1);
}

fn a_spoke_of_a_hub_that_stopped_reading_is_stale_by_its_own_limit(version: Version) {
    let mut backend = Backend::sample();
    let (hub, mut of_hub) = Proxy::start(version, &backend, json!({"max_staleness": "10m"}));
    let as_of = json!({"max_staleness": "6s", "on_stale": "mark", "header": {"extra_keys": ["as-of"]}});
    let proxy = Proxy::of(version)
        .plugin(spoke(as_of))
        .cluster(cluster("hub", hub.envoy.listener("main").port()))
        .start(&backend);
    let mut of_spoke = proxy.client("main");
    of_spoke.wait(&ngsa_1(), "the hub's word", |answer| {
        answer.header("x-burst").is_some_and(|value| value.starts_with(NGSA_1))
    });
    backend.refuse_connections();
    hub.wait_for_stat("burst_poll_unreachable_total", |count| count >= 4);
    let read = hub.stat("burst_snapshot_timestamp_seconds");
    let stale = format!("{NGSA_1}, as-of={read}, stale=true");
    of_spoke.wait_for_header(&ngsa_1(), Some(&stale));
    assert_eq!(
        of_hub.ask(&ngsa_1()).header("x-burst"),
        Some(NGSA_1),
        "the hub's own limit is far"
    );
    let answered = proxy.stat("burst_poll_ok_total");
    proxy.wait_for_stat("burst_poll_ok_total", |count| count > answered);
    assert_eq!(
        of_spoke.ask(&ngsa_1()).header("x-burst"),
        Some(&*stale),
        "though the hub answers"
    );
    // Each worker reports its own age, which may be a second more by then.
    for words in of_spoke.ask_each(&Request::get("/burstmetrics/services")) {
        assert_eq!(words.status, 503);
        let begins = "too stale: the Kubernetes API was last read by the hub ";
        assert!(words.body.starts_with(begins), "{}", words.body);
    }
    backend.accept_connections();
    of_spoke.wait(&ngsa_1(), "a newer read", |answer| {
        answer
            .header("x-burst")
            .is_some_and(|value| !value.ends_with("stale=true"))
    });
}

fn a_spoke_reads_and_reports_through_one_mutual_tls_cluster(version: Version) {
    let (backend, identity) = (Backend::sample(), TlsIdentity::new("burst-hub"));
    let accepting = json!({"requests": {"report_interval": "1s", "accept": {"filter_chain": "reports"}}});
    let hub = Proxy::of(version)
        .plugin(
            Plugin::new("hub", accepting)
                .filter_chain("reports")
                .mutual_tls(&identity),
        )
        .start(&backend);
    let telling = json!({"requests": {"report_interval": "1s", "hub": {"cluster": "hub"}}});
    let proxy = Proxy::of(version)
        .plugin(spoke(telling))
        .cluster(identity.over(cluster("hub", hub.envoy.listener("hub").port())))
        .start(&backend);
    let mut main = proxy.client("main");
    main.wait_for_header(&ngsa_1(), Some(NGSA_1));
    hub.wait_for_stat("burst_hub_proxies", |proxies| proxies == 2);
    proxy.wait_for_stat("burst_report_ok_total", |sent| sent >= 2);
}

/// The requests that a listener has not answered.
fn active(proxy: &Proxy, listener: &str) -> Option<u64> {
    proxy.envoy.stat(&format!("http.{listener}.downstream_rq_active"))
}

fn a_change_at_the_api_server_reaches_a_spoke_by_its_long_poll(version: Version) {
    let backend = Backend::sample();
    let plugin = Plugin::new("main", json!({"sync": {"mode": "auto"}})).upstream_filter(UpstreamProtocol::Http2);
    let hub = Proxy::of(version).plugin(plugin).start(&backend);
    hub.client("main").wait_for_header(&ngsa_1(), Some(NGSA_1));
    for module in [Module::Full, Module::HeaderOnly] {
        // Within the time of this test the spoke would not poll again.
        let keys = json!({"poll_interval": "10m", "max_staleness": "20m"});
        let proxy = Proxy::of(version)
            .plugin(spoke(keys).module(module))
            .cluster(cluster("hub", hub.envoy.listener("main").port()))
            .start(&backend);
        let mut of_spoke = proxy.client("main");
        of_spoke.wait_for_header(&ngsa_1(), Some(NGSA_1));
        proxy.wait_for_main_thread();
        for replicas in [3, 1] {
            wait::until(PATIENCE, "a request waits at the hub", || {
                active(&hub, "main") >= Some(1)
            });
            let answered = proxy.stat("burst_poll_ok_total");
            backend.scale_ngsa_1(replicas);
            let changed = NGSA_1.replace("current-load=1", &format!("current-load={replicas}"));
            of_spoke.wait_for_header(&ngsa_1(), Some(&changed));
            // The request that waited, the one after it, and those that saw nothing change before.
            proxy.wait_for_stat("burst_poll_ok_total", |count| count > answered);
        }
        assert_eq!(proxy.log_lines("cannot read the hub"), Vec::<String>::new());
    }
    hub.wait_for_stat("burst_long_poll_total", |count| count >= 4);
}

/// A hub that does not know the parameter `wait`.
#[derive(Clone, Default)]
struct OlderHub(Arc<AtomicUsize>);

impl Handler for OlderHub {
    fn handle(&self, request: &http::Request<Bytes>) -> Reply {
        self.0.fetch_add(1, Ordering::Relaxed);
        let now = std::time::UNIX_EPOCH.elapsed().expect("a time after 1970").as_millis();
        let confirmed = format!("at={now}, age=0");
        let answer = http::Response::builder()
            .header("etag", "\"1\"")
            .header("x-burst-confirmed", confirmed);
        let (status, body) = match request.headers().get("if-none-match") {
            Some(_) => (304, String::new()),
            None => (200, format!("{{\"default/ngsa-svc-1\": \"{NGSA_1}\"}}")),
        };
        Reply::Response(answer.status(status).body(body.into()).expect("a response"))
    }
}

fn a_spoke_of_an_older_hub_polls_once_per_interval(version: Version) {
    let (backend, older) = (Backend::sample(), OlderHub::default());
    let server = serve(older.clone());
    let proxy = Proxy::of(version)
        .plugin(spoke(json!({"poll_interval": "3s"})))
        .cluster(cluster("hub", server.addr().port()))
        .start(&backend);
    let mut main = proxy.client("main");
    main.wait_for_header(&ngsa_1(), Some(NGSA_1));
    proxy.wait_for_main_thread();
    let (requests, since) = (older.0.load(Ordering::Relaxed), std::time::Instant::now());
    wait::until(PATIENCE, "three more polls", || {
        older.0.load(Ordering::Relaxed) >= requests + 3
    });
    let shortest = std::time::Duration::from_millis(2_500) * 2;
    assert!(since.elapsed() >= shortest, "three polls in {:?}", since.elapsed());
    main.wait_for_header(&ngsa_1(), Some(NGSA_1));
    assert_eq!(proxy.log_lines("cannot read the hub"), Vec::<String>::new());
}

fn a_spoke_moves_to_the_next_hub_while_its_request_waits(version: Version) {
    let (backend, port) = (Backend::sample(), port::free());
    let plugin = |keys| Plugin::new("main", keys).port(port);
    let hub = Proxy::of(version)
        .argument("--drain-time-s")
        .argument("2")
        .plugin(plugin(json!({})))
        .start(&backend);
    hub.client("main").wait_for_header(&ngsa_1(), Some(NGSA_1));
    let proxy = Proxy::of(version)
        .plugin(spoke(json!({"poll_interval": "10m", "max_staleness": "20m"})))
        .cluster(cluster("hub", port))
        .start(&backend);
    let mut of_spoke = proxy.client("main");
    of_spoke.wait_for_header(&ngsa_1(), Some(NGSA_1));
    proxy.wait_for_main_thread();
    wait::until(PATIENCE, "a request waits at the hub", || {
        active(&hub, "main") == Some(1)
    });
    // The old filter chain drains, and its connections end; whether a request waits there or not.
    let leaders = hub.leader_changes();
    hub.replace_listeners(&[plugin(json!({"max_staleness": "11m"}))]);
    wait::until(PATIENCE, "another leader", || hub.leader_changes() > leaders);
    hub.wait_for_the_drain();
    backend.scale_ngsa_1(3);
    of_spoke.wait_for_header(&ngsa_1(), Some(&NGSA_1.replace("current-load=1", "current-load=3")));
    assert_eq!(proxy.log_lines("cannot read the hub"), Vec::<String>::new());
}
