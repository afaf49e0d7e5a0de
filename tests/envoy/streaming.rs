//! Streams: the filter is also an upstream filter of the API server's cluster, and reads each change while its callout is
//! still open.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use burst_lab::api::{LoggedRequest, StreamFault};
use burst_lab::cluster::{DEPLOYMENTS, HPAS, SERVICES, STATEFULSETS};
use burst_testkit::{
    Traffic, Version,
    filter::{Backend, Client, Module, NGSA_1, NGSA_1_CLUSTER, PATIENCE, Plugin, Proxy, UpstreamProtocol, listing},
    http::Request,
    port, wait,
};
use serde_json::{Value, json};

on_each_envoy!(
    a_change_shows_while_the_callout_that_brings_it_is_open,
    a_stream_that_fails_is_continued_without_a_list_and_no_response_lacks_the_header,
    a_stream_of_a_server_without_watch_list_begins_after_a_list,
    a_stream_that_passes_the_filter_twice_is_read_once,
    a_stream_is_no_request_of_the_proxy,
    reviews_by_the_same_cluster_are_answered,
    windows_are_read_although_the_filter_could_stream,
    streams_without_the_upstream_filter_are_refused_in_one_line,
    without_the_upstream_filter_the_default_is_windows_and_one_line_says_so,
    a_new_configuration_continues_the_streams_without_a_list,
    the_successor_of_a_leader_that_traps_continues_its_streams,
);

const PROTOCOLS: [UpstreamProtocol; 2] = [UpstreamProtocol::Http1, UpstreamProtocol::Http2];

const KINDS: [&str; 4] = [HPAS, SERVICES, DEPLOYMENTS, STATEFULSETS];

/// The counters of responses. Each response of the listener is in one of them.
const RESPONSES: [&str; 7] = [
    "burst_header_added_total",
    "burst_header_gated_total",
    "burst_header_upstream_kept_total",
    "burst_header_absent_no_cluster_total",
    "burst_header_absent_no_entry_total",
    "burst_header_absent_unsynced_total",
    "burst_header_absent_stale_total",
];

fn ngsa_1() -> Request {
    Request::to(NGSA_1_CLUSTER)
}

fn wait_for(main: &mut Client, replicas: u32) {
    let header = NGSA_1.replace("current-load=1", &format!("current-load={replicas}"));
    main.wait_for_header(&ngsa_1(), Some(&header));
}

fn has_one_stream_each(backend: &Backend) -> bool {
    let one_each: BTreeMap<_, _> = KINDS.iter().map(|kind| ((*kind).to_owned(), 1)).collect();
    backend.api.watches.counts() == one_each
}

fn wait_for_streams(backend: &Backend) {
    wait::until(PATIENCE, "one stream of each kind", || has_one_stream_each(backend));
}

/// Waits until the streams are those of the leader that stays: a worker may have led before the main thread, and its streams
/// end when the others have begun.
fn wait_for_quiet(backend: &Backend) {
    const QUIET: Duration = Duration::from_secs(2);
    let (mut known, mut since) = (0, Instant::now());
    wait::until(PATIENCE, "one stream of each kind, and no new request", || {
        let count = request_count(backend, |_| true);
        if count != known {
            (known, since) = (count, Instant::now());
        }
        has_one_stream_each(backend) && since.elapsed() >= QUIET
    });
}

fn request_count(backend: &Backend, fits: impl Fn(&LoggedRequest) -> bool) -> usize {
    backend.api.requests.count(fits)
}

fn is_list(request: &LoggedRequest) -> bool {
    request.verb == "list"
}

/// Whether a request asks for all objects as events, and for the changes after them.
fn is_watch_list(request: &LoggedRequest) -> bool {
    request.verb == "watch" && request.query.contains("sendInitialEvents=true")
}

/// A proxy with this configuration that reads the API server by streams.
fn streaming(version: Version, protocol: UpstreamProtocol, backend: &Backend, keys: Value) -> Proxy {
    let plugin = Plugin::new("main", keys).upstream_filter(protocol);
    Proxy::of(version).plugin(plugin).start(backend)
}

/// The same, once it serves the cluster and its lease no longer moves.
fn start(version: Version, protocol: UpstreamProtocol, backend: &Backend) -> (Proxy, Client) {
    let proxy = streaming(version, protocol, backend, json!({}));
    let mut main = proxy.client("main");
    wait_for(&mut main, 1);
    proxy.wait_for_main_thread();
    wait_for_quiet(backend);
    (proxy, main)
}

/// Compares what the proxy serves with what another one lists.
fn assert_equals_a_fresh_list(version: Version, backend: &Backend, main: &mut Client) {
    let (_other, mut lister) = Proxy::start(version, backend, listing(json!({})));
    let all = Request::get("/burstmetrics/services");
    lister.wait(&all, "a list", |answer| answer.status == 200);
    let wanted = lister.ask(&all).body;
    assert_eq!(main.ask(&all).body, wanted);
}

fn a_change_shows_while_the_callout_that_brings_it_is_open(version: Version) {
    for protocol in PROTOCOLS {
        let backend = Backend::sample();
        let (proxy, mut main) = start(version, protocol, &backend);
        assert_eq!(request_count(&backend, is_list), 0, "{protocol:?}");
        assert_eq!(request_count(&backend, is_watch_list), KINDS.len(), "{protocol:?}");
        for line in ["reading the Kubernetes API by streams", "this thread polls "] {
            assert_eq!(
                proxy.log_lines(line).len(),
                proxy.leader_changes(),
                "{line}: one for each leader"
            );
        }

        backend.api.requests.clear();
        for replicas in [3, 5, 2] {
            backend.scale_ngsa_1(replicas);
            wait_for(&mut main, replicas);
        }
        backend.cluster.delete(SERVICES, "default/ngsa-svc-1");
        main.wait_for_header(&ngsa_1(), None);
        assert!(has_one_stream_each(&backend), "{protocol:?}: no stream has ended");
        assert_eq!(backend.api.requests.entries(), [], "{protocol:?}");
        assert_equals_a_fresh_list(version, &backend, &mut main);
    }
}

fn a_stream_that_fails_is_continued_without_a_list_and_no_response_lacks_the_header(version: Version) {
    for protocol in PROTOCOLS {
        let backend = Backend::sample();
        let (proxy, mut main) = start(version, protocol, &backend);
        backend.api.requests.clear();
        let traffic = Traffic::to(proxy.envoy.listener("main"), ngsa_1()).start();
        let faults = [
            // In the middle of the next event.
            StreamFault::Cut { bytes: 100 },
            StreamFault::End { after: 0 },
            StreamFault::End { after: 1 },
            StreamFault::Drip { milliseconds: 2 },
            StreamFault::End { after: 0 },
        ];
        for (fault, replicas) in faults.into_iter().zip(2..) {
            wait_for_streams(&backend);
            assert_eq!(backend.api.watches.inject(HPAS, fault), 1, "{protocol:?}, {fault:?}");
            backend.scale_ngsa_1(replicas);
            wait_for(&mut main, replicas);
        }
        wait_for_streams(&backend);
        let is_hpas = |request: &LoggedRequest| request.resource == HPAS;
        assert_eq!(request_count(&backend, is_hpas), 4, "{protocol:?}: one for each end");
        assert_eq!(request_count(&backend, is_watch_list), 0, "{protocol:?}");
        assert_eq!(
            request_count(&backend, |_| true),
            4,
            "{protocol:?}: the others are open"
        );
        proxy.wait_for_stat("burst_poll_cut_total", |count| count == 1);

        backend.api.watches.inject("*", StreamFault::Expired { after: 0 });
        backend.scale_ngsa_1(1);
        proxy.wait_for_stat("burst_poll_expired_total", |count| count == 4);
        wait_for(&mut main, 1);
        wait_for_streams(&backend);
        assert_eq!(
            request_count(&backend, is_watch_list),
            4,
            "{protocol:?}: each kind once"
        );
        assert_eq!(request_count(&backend, is_list), 0, "{protocol:?}");

        let without = traffic
            .stop()
            .into_iter()
            .filter(|answer| answer.header("x-burst").is_none());
        assert_eq!(without.count(), 0, "{protocol:?}");
        assert_equals_a_fresh_list(version, &backend, &mut main);
    }
}

fn a_stream_of_a_server_without_watch_list_begins_after_a_list(version: Version) {
    let backend = Backend::sample();
    backend.api.watches.set_watch_list(false);
    let (proxy, mut main) = start(version, UpstreamProtocol::Http2, &backend);
    for kind in KINDS {
        let lists = request_count(&backend, |request| is_list(request) && request.resource == kind);
        assert!((1..=proxy.leader_changes()).contains(&lists), "{kind}: {lists} lists");
    }
    let lines = proxy.log_lines("does not send lists as events").len();
    assert!((1..=proxy.leader_changes()).contains(&lines), "{lines} lines");
    backend.api.requests.clear();
    backend.scale_ngsa_1(3);
    wait_for(&mut main, 3);
    assert!(has_one_stream_each(&backend));
    assert_eq!(backend.api.requests.entries(), []);
}

/// The cluster of the shipped Istio sets has the filter under two names, of which istiod knows one.
fn a_stream_that_passes_the_filter_twice_is_read_once(version: Version) {
    let backend = Backend::sample();
    let plugin = Plugin::new("main", json!({})).upstream_filter(UpstreamProtocol::Http2);
    let proxy = Proxy::of(version).plugin(plugin.upstream_filters(2)).start(&backend);
    let mut main = proxy.client("main");
    wait_for(&mut main, 1);
    proxy.wait_for_main_thread();
    wait_for_streams(&backend);
    backend.api.requests.clear();
    for replicas in [3, 5] {
        backend.scale_ngsa_1(replicas);
        wait_for(&mut main, replicas);
    }
    assert!(has_one_stream_each(&backend));
    assert_eq!(backend.api.requests.entries(), []);
}

fn a_stream_is_no_request_of_the_proxy(version: Version) {
    let backend = Backend::sample();
    let proxy = streaming(version, UpstreamProtocol::Http2, &backend, json!({}));
    wait_for_streams(&backend);
    // A thread that has served a request hands over the lease to one that has not.
    for streams in 2..5 {
        backend.api.watches.inject("*", StreamFault::End { after: 0 });
        wait::until(PATIENCE, "new streams", || {
            request_count(&backend, |request| request.verb == "watch") == streams * KINDS.len()
        });
        wait_for_streams(&backend);
    }
    proxy.wait_for_stat("burst_services", |count| count > 0);
    assert_eq!(proxy.leader_changes(), 1);

    let mut main = proxy.client("main");
    wait_for(&mut main, 1);
    proxy.wait_for_main_thread();
    wait::for_ok(PATIENCE, "a count of each response, and of no other", || {
        let counted: u64 = RESPONSES.iter().map(|name| proxy.stat(name)).sum();
        let served = proxy
            .envoy
            .stat("http.main.downstream_rq_completed")
            .unwrap_or_default();
        if counted == served {
            Ok(())
        } else {
            Err(format!("{counted} of {served}"))
        }
    });
}

fn reviews_by_the_same_cluster_are_answered(version: Version) {
    for protocol in PROTOCOLS {
        let backend = Backend::sample();
        backend.api.access.set_rules(
            "alice",
            vec![burst_lab::api::Rule {
                api_groups: vec!["external.metrics.k8s.io".into()],
                resources: vec!["burst_headroom".into()],
                verbs: vec!["list".into()],
                namespace: Some("default".into()),
            }],
        );
        backend.api.access.set_rules("bob", vec![]);
        let apis = json!({
            "filter_chain": "metrics-apis",
            "insecure_loopback_demo": true,
            "authorization": "subject_access_review",
        });
        let plugin = Plugin::new("main", json!({"metrics_apis": apis}));
        let plugin = plugin.filter_chain("metrics-apis").upstream_filter(protocol);
        let proxy = Proxy::of(version).plugin(plugin).start(&backend);
        wait_for_streams(&backend);
        let path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default/burst_headroom";
        let by = |user| Request::get(path).header("x-remote-user", user);
        let mut main = proxy.client("main");
        main.wait(&by("alice"), "leave to read it", |answer| answer.status == 200);
        main.wait(&by("bob"), "no leave to read it", |answer| answer.status == 403);
        assert!(main.ask(&by("bob")).body.contains(r#"User \"bob\" cannot list"#));
        wait_for_streams(&backend);
        assert_eq!(request_count(&backend, is_list), 0);
    }
}

/// The longest window that a test configures, in seconds.
const WINDOW: u64 = 3;

fn is_window(request: &LoggedRequest) -> bool {
    let mut options = request.query.split('&');
    let seconds = options.find_map(|option| option.strip_prefix("timeoutSeconds=")?.parse::<u64>().ok());
    request.verb == "watch" && seconds.is_some_and(|seconds| seconds <= WINDOW)
}

/// Each list is read once, and then in windows.
fn assert_reads_in_windows(backend: &Backend, main: &mut Client) {
    wait_for(main, 1);
    for replicas in [3, 5] {
        backend.scale_ngsa_1(replicas);
        wait_for(main, replicas);
    }
    assert_eq!(request_count(backend, is_list), KINDS.len());
    let (all, windows) = (request_count(backend, |_| true), request_count(backend, is_window));
    assert_eq!(all, KINDS.len() + windows, "{:#?}", backend.api.requests.entries());
}

fn windows_are_read_although_the_filter_could_stream(version: Version) {
    let backend = Backend::sample();
    let sync = json!({"mode": "watch", "window": "3s", "workload_window": "3s"});
    let proxy = streaming(version, UpstreamProtocol::Http2, &backend, json!({"sync": sync}));
    assert_reads_in_windows(&backend, &mut proxy.client("main"));
    for words in ["by streams", "in windows"] {
        assert_eq!(proxy.log_lines(words), [""; 0], "the mode is the configured one");
    }
}

fn without_the_upstream_filter_the_default_is_windows_and_one_line_says_so(version: Version) {
    let backend = Backend::sample();
    let (proxy, mut main) = Proxy::start(version, &backend, json!({}));
    assert_reads_in_windows(&backend, &mut main);
    let lines = proxy.log_lines("watching in windows of 3s, and 3s for workloads");
    assert_eq!(lines.len(), proxy.leader_changes(), "one for each leader: {lines:#?}");
    for line in lines {
        assert!(line.contains("[info]"), "{line}");
        assert!(
            line.contains(r#"not an upstream filter of the Envoy cluster "kube_api""#),
            "{line}"
        );
    }
}

fn streams_without_the_upstream_filter_are_refused_in_one_line(version: Version) {
    let backend = Backend::sample();
    let (proxy, mut main) = Proxy::start(version, &backend, json!({"sync": {"mode": "stream"}}));
    wait::until(PATIENCE, "several attempts", || {
        request_count(&backend, |request| request.resource == HPAS) >= 3
    });
    let lines = proxy.log_lines("nothing is read");
    assert_eq!(lines.len(), 1, "{lines:#?}");
    for words in ["[error]", r#"the Envoy cluster "kube_api""#, "docs/configuration.md"] {
        assert!(lines[0].contains(words), "{}", lines[0]);
    }
    for answer in main.ask_each(&ngsa_1()) {
        assert_eq!((answer.status, answer.header("x-burst")), (200, None));
    }
    assert_eq!(main.ask(&Request::get("/burstmetrics/services")).status, 503);
}

fn a_new_configuration_continues_the_streams_without_a_list(version: Version) {
    for protocol in PROTOCOLS {
        let backend = Backend::sample();
        let port = port::free();
        // The condition holds for each request. It makes another configuration of the same snapshot.
        let plugin = |gate: &str| {
            let keys = json!({"header": {"when": {"request_header": gate}}});
            Plugin::new("main", keys).port(port).upstream_filter(protocol)
        };
        let proxy = Proxy::of(version)
            .plugin(plugin("x-to"))
            .argument("--drain-time-s")
            .argument("2")
            .start(&backend);
        wait_for(&mut proxy.client("main"), 1);
        proxy.wait_for_main_thread();
        wait_for_streams(&backend);
        let traffic = Traffic::to(proxy.envoy.listener("main"), ngsa_1()).start();
        for (gate, replicas) in [("host", 3), ("x-request-id", 4)] {
            backend.api.requests.clear();
            let leaders = proxy.leader_changes();
            proxy.replace_listeners(&[plugin(gate)]);
            wait::until(PATIENCE, "another leader", || proxy.leader_changes() > leaders);
            backend.scale_ngsa_1(replicas);
            wait_for(&mut proxy.client("main"), replicas);
            wait_for_streams(&backend);
            proxy.wait_for_the_drain();
            wait_for_streams(&backend);
            let streams = request_count(&backend, |request| !is_window(request));
            assert_eq!(streams, KINDS.len(), "{protocol:?}, {gate}");
            // After a change that is not in the checkpoint, the new root context first asks for what happened meanwhile.
            let windows = request_count(&backend, is_window);
            assert!(
                windows == 0 || gate != "host" && windows == KINDS.len(),
                "{protocol:?}, {gate}: {windows}"
            );
            assert_eq!(
                request_count(&backend, |request| is_list(request) || is_watch_list(request)),
                0,
                "{protocol:?}, {gate}"
            );
        }
        let without = traffic
            .stop()
            .into_iter()
            .filter(|answer| answer.header("x-burst").is_none());
        assert_eq!(without.count(), 0, "{protocol:?}");
        assert_equals_a_fresh_list(version, &backend, &mut proxy.client("main"));
    }
}

fn the_successor_of_a_leader_that_traps_continues_its_streams(version: Version) {
    let backend = Backend::sample();
    // Envoy ends a stream of a VM that is gone when the stream brings something.
    backend.api.watches.set_bookmark_period(Duration::from_secs(1));
    let plugin = Plugin::new("main", json!({})).module(Module::Trap);
    let plugin = plugin.upstream_filter(UpstreamProtocol::Http2);
    let proxy = Proxy::of(version).plugin(plugin).start(&backend);
    let mut main = proxy.client("main");
    wait_for(&mut main, 1);
    proxy.wait_for_main_thread();
    wait_for_streams(&backend);
    backend.api.requests.clear();
    let leaders = proxy.leader_changes();
    // The filter traps when it reads the object.
    let annotations = json!({"metadata": {"annotations": {"burst-metrics.test/trap": "1"}}});
    backend
        .cluster
        .patch(HPAS, "ngsa/ngsa-hpa-2", &annotations)
        .expect("the HPA");
    wait::until(PATIENCE, "another leader", || proxy.leader_changes() > leaders);
    let words = "keeping the last version of HorizontalPodAutoscaler ngsa/ngsa-hpa-2";
    wait::until(PATIENCE, words, || proxy.log_lines(words).len() == 1);
    for replicas in [3, 5] {
        backend.scale_ngsa_1(replicas);
        wait_for(&mut main, replicas);
    }
    wait_for_streams(&backend);
    assert_eq!(proxy.log_lines("Uncaught RuntimeError: unreachable").len(), 1);
    assert_eq!(
        request_count(&backend, |request| is_list(request) || is_watch_list(request)),
        0,
        "{:#?}",
        backend.api.requests.entries()
    );
}
