//! VMs that trap.

use super::{counted, envoy, logged};
use crate::host::{By, FailurePolicy, FakeEnvoy, Module, Request, Response, Route, Vm};
use proxy_wasm::hostcalls;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn status(vm: &Vm, path: &str) -> u16 {
    vm.request(Request::get(path), Route::to("web")).status()
}

fn reloads(envoy: &FakeEnvoy, outcome: &str) -> Option<u64> {
    envoy.stat(&format!("wasm.burst-metrics.vm_reload_{outcome}"))
}

#[test]
fn a_trap_ends_its_own_vm_only() {
    let envoy = envoy("tick=1000");
    let (one, other) = (envoy.worker(), envoy.worker());
    assert_eq!(status(&one, "/trap"), 503);
    assert_eq!((one.alive(), other.alive()), (false, true));
    assert!(
        envoy.log().last().unwrap().text.contains("told to panic"),
        "{:?}",
        logged(&envoy)
    );
    envoy.advance(SECOND);
    assert_eq!((counted(&envoy, "tick 1"), counted(&envoy, "done")), (1, 0));
    assert_eq!(status(&other, "/"), 200);
}

#[test]
fn a_trap_in_the_response_phase_is_a_503_too() {
    let trap = Route::to("web").answering(Response::ok().header("x-trap", "1"));
    let seen = envoy("").worker().request(Request::get("/"), trap);
    assert_eq!((seen.by, seen.status()), (By::Envoy, 503));
}

#[test]
fn a_worker_reloads_for_a_request_a_second_after_its_load() {
    let envoy = envoy("tick=1000");
    let worker = envoy.worker();
    worker.kill();
    assert_eq!((status(&worker, "/"), reloads(&envoy, "backoff")), (503, Some(1)));
    envoy.advance(SECOND);
    assert!(!worker.alive(), "time alone reloads no VM");
    assert_eq!((status(&worker, "/"), reloads(&envoy, "success")), (200, Some(1)));
    assert_eq!(counted(&envoy, "configure"), 3, "canary, worker, worker again");
    envoy.advance(SECOND);
    assert_eq!(counted(&envoy, "tick 1"), 1);
}

#[test]
fn the_main_thread_never_reloads() {
    let envoy = envoy("tick=1000 panic-in-tick");
    let main = envoy.main_thread();
    envoy.advance(60 * SECOND);
    assert!(!main.alive());
    assert_eq!(counted(&envoy, "tick 1"), 1);
}

#[test]
fn fail_closed_answers_503_permanently_and_fail_open_bypasses_the_filter() {
    for (policy, after) in [(FailurePolicy::Closed, 503), (FailurePolicy::Open, 200)] {
        let envoy = envoy("").failure_policy(policy);
        let worker = envoy.worker();
        assert_eq!(status(&worker, "/trap"), 503, "{policy:?}");
        envoy.advance(60 * SECOND);
        assert_eq!(status(&worker, "/"), after, "{policy:?}");
        assert!(!worker.alive(), "{policy:?}");
    }
}

#[test]
fn shared_data_outlives_the_trapped_vm_that_wrote_it() {
    let envoy = envoy("");
    let worker = envoy.worker();
    worker.inside(|| hostcalls::set_shared_data("lease", Some(b"mine"), None).unwrap());
    worker.kill();
    assert_eq!(envoy.shared_data("lease").len(), 1);
}

#[test]
fn a_test_can_trap_a_vm_in_the_middle_of_a_callback() {
    let envoy = envoy("tick=1000 write");
    let (worker, other) = (envoy.worker(), envoy.worker());
    worker.before_write("second", || panic!("dies here")).tick();
    assert!(!worker.alive() && other.alive());
    assert_eq!(envoy.shared_data("").into_keys().collect::<Vec<_>>(), ["first"]);
}

#[test]
fn a_stream_open_when_its_vm_traps_ends_in_503() {
    let envoy = envoy("");
    let worker = envoy.worker();
    let stream = worker.open(Request::get("/"), Route::to("web"));
    worker.kill();
    envoy.advance(SECOND);
    assert_eq!(status(&worker, "/"), 200, "the next stream has a new VM");
    assert_eq!(stream.finish().status(), 503);
}

#[test]
fn other_host_calls_than_logging_trap_in_initialize() {
    extern "C" fn forward() {
        hostcalls::get_current_time().ok();
    }
    let refused = FakeEnvoy::new(Module::sdk_only(forward)).try_worker().err().unwrap();
    assert!(refused.to_string().contains("only logging is allowed"), "{refused}");
}
