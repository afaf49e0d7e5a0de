//! A new configuration: an invalid one is refused, and a valid one takes over without a broken request.

use burst_testkit::{
    Traffic, Version,
    filter::{Backend, Module, NGSA_1, NGSA_1_CLUSTER, PATIENCE, Plugin, Proxy, echo, listing},
    http::Request,
    port, wait,
};
use serde_json::json;

on_each_envoy!(
    a_bad_configuration_is_refused_and_the_previous_one_stays_active,
    a_new_configuration_breaks_no_request_and_leaves_one_leader,
    each_listener_stays_current_when_other_listeners_are_removed,
    two_listeners_swap_their_configurations_under_traffic,
    fifty_new_configurations_in_a_row_break_no_request_and_drop_no_header,
);

const REJECTED: &str = "listener_manager.lds.update_rejected";

fn a_bad_configuration_is_refused_and_the_previous_one_stays_active(version: Version) {
    let backend = Backend::sample();
    let port = port::free();
    let good = Plugin::new("main", json!({})).port(port);
    let proxy = Proxy::of(version).plugin(good).start(&backend);
    let mut main = proxy.client("main");
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    for (count, (module, configuration, says)) in (1..).zip([
        (
            Module::Full,
            "",
            "cluster: is missing; name the Envoy cluster of the Kubernetes API",
        ),
        (
            Module::Full,
            r#"{"cluster":""}"#,
            r#"cluster: "" must be a text of at least one character"#,
        ),
        (
            Module::Full,
            r#"{"cluster":"k","poll_interval":"200ms"}"#,
            "poll_interval: 200ms is below the least allowed, 1s",
        ),
        (
            Module::Full,
            r#"{"cluster":"k","poll_interval":"0s"}"#,
            "poll_interval: 0s is below the least allowed, 1s",
        ),
        (
            Module::Full,
            r#"{"cluster":"k","max_staleness":"soon"}"#,
            r#"max_staleness: "soon" is not a duration such as 500ms, 15s, 2m or 1h30m"#,
        ),
        (
            Module::Full,
            r#"{"cluster":"k","intervall":"1s"}"#,
            "unknown field `intervall`, expected one of `cluster`",
        ),
        (
            Module::Full,
            r#"{"cluster":"k","page_size":0}"#,
            "page_size: 0 is not between 1 and 10000",
        ),
        (
            Module::Full,
            r#"{"cluster":"k","on_stale":"panic"}"#,
            "on_stale: unknown variant `panic`, expected one of",
        ),
        (
            Module::Full,
            r#"{"cluster":"k","header":{"name":"x burst"}}"#,
            r#"header.name: "x burst" is not a valid header name"#,
        ),
        (Module::Full, "cluster: k", "expected value at line 1 column 1"),
        (
            Module::HeaderOnly,
            r#"{"cluster":"k","endpoints":{"enabled":true}}"#,
            "endpoints.enabled: is not supported by the header-only module, which does not see requests",
        ),
        (
            Module::HeaderOnly,
            r#"{"cluster":"k","endpoints":{"page":true}}"#,
            "endpoints.page: is not supported by the header-only module, which does not see requests",
        ),
        (
            Module::HeaderOnly,
            r#"{"cluster":"k","header":{"when":{"request_header":"user-agent"}}}"#,
            "header.when: is not supported by the header-only module, which does not see requests",
        ),
        (
            Module::HeaderOnly,
            r#"{"cluster":"k","metrics_apis":{"filter_chain":"m"}}"#,
            "metrics_apis: is not supported by the header-only module, which does not see requests",
        ),
        (
            Module::HeaderOnly,
            r#"{"cluster":"k","requests":{}}"#,
            "requests: is not supported by the header-only module, which does not see requests",
        ),
    ]) {
        let bad = Plugin::written("main", configuration).port(port).module(module);
        proxy.replace_listeners(&[bad]);
        wait::until(PATIENCE, &format!("{configuration} is rejected"), || {
            proxy.envoy.stat(REJECTED) == Some(count)
        });
        let lines = proxy.log_lines("the configuration is refused: ");
        assert_eq!(lines.len() as u64, count, "one line each: {lines:#?}");
        let line = lines.last().expect("a line");
        assert!(line.contains(says), "{configuration}: {line}");
        assert!(line.contains("[error]"), "{line}");
        assert_eq!(main.ask(&Request::to(NGSA_1_CLUSTER)).header("x-burst"), Some(NGSA_1));
    }
    backend.scale_ngsa_1(2);
    let risen = NGSA_1.replace("current-load=1", "current-load=2");
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&risen));
}

fn a_new_configuration_breaks_no_request_and_leaves_one_leader(version: Version) {
    let backend = Backend::sample();
    let port = port::free();
    let plugin = |keys| Plugin::new("main", listing(keys)).port(port);
    let setup = Proxy::of(version).plugin(plugin(json!({})));
    let proxy = setup.argument("--drain-time-s").argument("2").start(&backend);
    proxy
        .client("main")
        .wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    let traffic = Traffic::to(proxy.envoy.listener("main"), Request::to(NGSA_1_CLUSTER)).start();

    // Only the text of the header changes, so no response lacks the header.
    proxy.replace_listeners(&[plugin(json!({"header": {"extra_keys": ["stale"]}}))]);
    let marked = format!("{NGSA_1}, stale=false");
    traffic.wait_for(|answer| answer.header("x-burst") == Some(&marked));
    proxy.wait_for_the_drain();
    let without = traffic.count(|answer| !answer.header("x-burst").is_some_and(|value| value.starts_with(NGSA_1)));
    assert_eq!(without, 0, "responses without the header while only its words changed");

    // The settings of the snapshot change, so the new configuration has to read the cluster first.
    proxy.replace_listeners(&[plugin(json!({"target_percent": 60}))]);
    let other = NGSA_1.replace("target-load=4", "target-load=3");
    traffic.wait_for(|answer| answer.header("x-burst") == Some(&other));
    proxy.wait_for_the_drain();
    traffic.wait_for_more(100);
    let answers = traffic.stop();
    assert!(answers.iter().all(|answer| answer.status == 200), "no broken request");
    proxy.wait_for_main_thread();
    backend.wait_for_polls_of_one();
}

fn each_listener_stays_current_when_other_listeners_are_removed(version: Version) {
    let backend = Backend::sample();
    let first = Plugin::new("first", listing(json!({})));
    let proxy = Proxy::of(version)
        .plugin(first.clone())
        .listener("other content", listing(json!({"target_percent": 60})))
        .listener("other words", listing(json!({"header": {"extra_keys": ["stale"]}})))
        .argument("--drain-time-s")
        .argument("1")
        .start(&backend);
    for (listener, value) in [
        ("first", NGSA_1.to_owned()),
        ("other content", NGSA_1.replace("target-load=4", "target-load=3")),
        ("other words", format!("{NGSA_1}, stale=false")),
    ] {
        proxy
            .client(listener)
            .wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&value));
    }
    proxy.replace_listeners(&[first]);
    let draining = "listener_manager.total_listeners_draining";
    wait::until(PATIENCE, "the others to be removed", || {
        proxy.envoy.stat(draining) == Some(0) && proxy.envoy.stat("listener_manager.listener_removed") == Some(2)
    });
    proxy.wait_for_main_thread();
    backend.wait_for_polls_of_one();
    backend.scale_ngsa_1(3);
    let risen = NGSA_1.replace("current-load=1", "current-load=3");
    proxy
        .client("first")
        .wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&risen));
}

fn two_listeners_swap_their_configurations_under_traffic(version: Version) {
    let backend = Backend::sample();
    let ports = [port::free(), port::free()];
    let keys = [
        json!({"target_percent": 60}),
        json!({"header": {"extra_keys": ["stale"]}}),
    ];
    let plugins = |order: [usize; 2]| {
        let of = |place: usize| Plugin::new(["one", "two"][place], keys[order[place]].clone()).port(ports[place]);
        [of(0), of(1)]
    };
    let values = [
        NGSA_1.replace("target-load=4", "target-load=3"),
        format!("{NGSA_1}, stale=false"),
    ];
    let [one, two] = plugins([0, 1]);
    let setup = Proxy::of(version).plugin(one).plugin(two);
    let proxy = setup.argument("--drain-time-s").argument("2").start(&backend);
    let request = Request::get("/echo/200/1000").through(NGSA_1_CLUSTER);
    for (listener, value) in ["one", "two"].into_iter().zip(&values) {
        proxy.client(listener).wait_for_header(&request, Some(value));
    }
    let traffic = ["one", "two"].map(|listener| Traffic::to(proxy.envoy.listener(listener), request.clone()).start());
    for order in [[1, 0], [0, 1], [1, 0]] {
        proxy.replace_listeners(&plugins(order));
        for (traffic, place) in traffic.iter().zip(order) {
            traffic.wait_for(|answer| answer.header("x-burst") == Some(&values[place]));
        }
        proxy.wait_for_the_drain();
    }
    for answer in traffic.into_iter().flat_map(Traffic::stop) {
        assert_eq!((answer.status, answer.body.as_str()), (200, &*echo(1000)));
        let header = answer.header("x-burst");
        // A new configuration has to read the cluster first.
        assert!(
            header.is_none() || values.iter().any(|value| header == Some(value)),
            "{header:?}"
        );
    }
    backend.scale_ngsa_1(3);
    for (listener, value) in ["two", "one"].into_iter().zip(&values) {
        let risen = value.replace("current-load=1", "current-load=3");
        proxy.client(listener).wait_for_header(&request, Some(&risen));
    }
}

fn fifty_new_configurations_in_a_row_break_no_request_and_drop_no_header(version: Version) {
    let backend = Backend::sample();
    let port = port::free();
    let configurations = [
        (json!({}), NGSA_1.to_owned()),
        (
            json!({"header": {"extra_keys": ["stale"]}}),
            format!("{NGSA_1}, stale=false"),
        ),
    ];
    let plugin = |keys| Plugin::new("main", listing(keys)).port(port);
    let setup = Proxy::of(version).plugin(plugin(configurations[0].0.clone()));
    let proxy = setup.argument("--drain-time-s").argument("2").start(&backend);
    let request = Request::to(NGSA_1_CLUSTER);
    proxy.client("main").wait_for_header(&request, Some(NGSA_1));
    let traffic = Traffic::to(proxy.envoy.listener("main"), request).start();
    // The changes come faster than the old configurations drain, so several exist at once.
    for (keys, value) in configurations.iter().cycle().skip(1).take(50) {
        proxy.replace_listeners(&[plugin(keys.clone())]);
        traffic.wait_for(|answer| answer.header("x-burst") == Some(value));
    }
    for answer in traffic.stop() {
        assert_eq!(answer.status, 200);
        let header = answer.header("x-burst");
        let is_known = configurations.iter().any(|(_, value)| header == Some(value));
        assert!(is_known, "{header:?}");
    }
    proxy.wait_for_the_drain();
    proxy.wait_for_main_thread();
    backend.wait_for_polls_of_one();
}
