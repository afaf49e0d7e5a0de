//! A hot restart.

use std::fs;

use burst_lab::cluster::HPAS;
use burst_testkit::{
    Traffic, Version,
    filter::{Backend, NGSA_1, NGSA_1_CLUSTER, PATIENCE, Plugin, Proxy, echo, listing},
    http::Request,
    port, wait,
};
use serde_json::json;

on_each_envoy!(a_hot_restart_breaks_no_request_and_the_new_process_reads_the_cluster_itself);

fn a_hot_restart_breaks_no_request_and_the_new_process_reads_the_cluster_itself(version: Version) {
    let backend = Backend::sample();
    let port = port::free();
    let setup = || {
        let times = ["--drain-time-s", "3", "--parent-shutdown-time-s", "5"];
        let plugin = Plugin::new("main", listing(json!({}))).port(port);
        times
            .into_iter()
            .fold(Proxy::of(version).plugin(plugin), |setup, argument| {
                setup.argument(argument)
            })
    };
    let first = setup().restartable().start(&backend);
    let request = Request::get("/echo/200/1000").through(NGSA_1_CLUSTER);
    first.client("main").wait_for_header(&request, Some(NGSA_1));
    let traffic = Traffic::to(first.envoy.listener("main"), request.clone()).start();

    let second = setup().take_over(&backend, &first);
    wait::until(PATIENCE, "the first one has ended", || has_ended(first.envoy.id()));
    backend.scale_ngsa_1(3);
    let risen = NGSA_1.replace("current-load=1", "current-load=3");
    traffic.wait_for(|answer| answer.header("x-burst") == Some(&risen));
    for answer in traffic.stop() {
        assert_eq!((answer.status, answer.body.as_str()), (200, &*echo(1000)));
    }
    second.client("main").wait_for_header(&request, Some(&risen));
    let asked = || backend.api.requests.count(|seen| seen.resource == HPAS);
    let before = asked();
    wait::until(PATIENCE, "the new one reads on", || asked() > before + 1);
}

/// Whether the process has ended. It is a zombie as long as the test has not waited for it.
fn has_ended(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(')')
        .is_none_or(|(_, state)| state.trim_start().starts_with('Z'))
}
