//! VMs, root contexts, ticks.

use super::{counted, envoy, last, logged, paths};
use crate::host::{Plugin, Request, Response, Route, ThreadName};
use proxy_wasm::hostcalls;
use proxy_wasm::types::LogLevel;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_configuration_runs_in_a_canary_before_each_live_vm() {
    let envoy = envoy("tick=1000");
    envoy.main_thread();
    envoy.worker();
    envoy.worker();
    assert_eq!(counted(&envoy, "configure 9: tick=1000"), 4, "{:?}", logged(&envoy));
}

#[test]
fn the_stats_and_queues_of_a_canary_remain_and_its_callouts_and_on_done_do_not_run() {
    let envoy = envoy("count queue tick=1000 call-in-configure");
    let worker = envoy.worker();
    assert_eq!(envoy.stat("configured"), Some(2));
    assert_eq!(paths(&worker), ["/configure"]);
    assert_eq!(counted(&envoy, "done"), 0);
    envoy.advance(SECOND);
    assert_eq!(counted(&envoy, "tick 1"), 1);
}

#[test]
fn a_refusal_carries_its_log_lines_and_leaves_no_vm() {
    let envoy = envoy("refuse");
    let refused = envoy.try_worker().err().unwrap();
    assert!(
        refused.log.iter().any(|line| line.text == "configure 6: refuse"),
        "{refused}"
    );
    assert_eq!(envoy.vms().len(), 0);
}

#[test]
fn a_panic_in_on_configure_refuses_the_configuration() {
    let refused = envoy("panic-in-configure").try_worker().err().unwrap();
    let line = refused.log.last().unwrap();
    assert_eq!((line.level, line.thread), (LogLevel::Critical, ThreadName::Main));
    assert!(line.text.contains("told to panic"), "{line}");
}

#[test]
fn a_second_configuration_is_a_second_root_context_in_the_same_vm() {
    let envoy = envoy("tick=1000 old");
    let worker = envoy.worker();
    let old = worker.root();
    let new = worker.configure("tick=1000 new").unwrap();
    assert_ne!(old, new);
    assert_eq!(counted(&envoy, "vm start"), 4, "once a root context, canaries included");
    worker.tick();
    assert_eq!(counted(&envoy, "tick 1"), 2, "both tick during the drain");

    worker.response("web.shop");
    assert_eq!(last(&envoy, "passed ").unwrap(), "tick=1000 new");
    worker.request_through(old, Request::get("/"), Route::istio("web", "shop"));
    assert_eq!(last(&envoy, "passed ").unwrap(), "tick=1000 old");
}

#[test]
fn the_same_plugin_again_is_the_same_root_context() {
    let envoy = envoy("a");
    let worker = envoy.worker();
    assert_eq!(worker.configure("a").unwrap(), worker.root());
    assert_eq!(counted(&envoy, "configure"), 2);
    assert_ne!(
        worker.load(Plugin::named("other").config("a")).unwrap(),
        worker.configure("a").unwrap()
    );
}

#[test]
fn a_refused_second_configuration_leaves_the_first_serving() {
    let envoy = envoy("tick=1000");
    let worker = envoy.worker();
    assert!(worker.configure("refuse").is_err());
    worker.tick();
    assert_eq!(counted(&envoy, "tick 1"), 1);
    assert!(worker.alive());
}

#[test]
fn a_retired_root_context_gets_on_done_and_no_more_ticks_or_callouts() {
    let envoy = envoy("tick=1000 call");
    let worker = envoy.worker();
    let old = worker.root();
    worker.tick();
    let callout = worker.callouts().remove(0);
    worker.configure("new").unwrap();
    worker.retire(old);
    assert_eq!(counted(&envoy, "done"), 1);
    assert!(worker.callouts().is_empty());
    worker.reply(&callout, Response::ok());
    envoy.advance(60 * SECOND);
    assert_eq!((counted(&envoy, "answer:"), counted(&envoy, "tick 2")), (0, 0));
}

#[test]
fn a_root_context_that_is_not_done_keeps_ticking_until_it_calls_done() {
    let envoy = envoy("tick=1000 linger");
    let worker = envoy.worker();
    worker.retire(worker.root());
    envoy.advance(5 * SECOND);
    assert_eq!((counted(&envoy, "tick 2"), counted(&envoy, "tick 3")), (1, 0));
    assert!(worker.alive());
}

#[test]
fn calling_done_early_traps_in_the_sdk() {
    let envoy = envoy("tick=1000 linger");
    let worker = envoy.worker();
    worker.tick().tick();
    assert!(!worker.alive());
    assert!(
        logged(&envoy).pop().unwrap().contains("unexpected status: 1"),
        "{:?}",
        logged(&envoy)
    );
}

#[test]
fn the_clock_ticks_each_root_context_at_its_own_period() {
    let envoy = envoy("tick=1000");
    let worker = envoy.worker();
    worker.configure("tick=2500 slow").unwrap();
    assert_eq!(worker.tick_period(worker.root()), Some(Duration::from_millis(2500)));
    let before = envoy.now();
    envoy.advance(5 * SECOND);
    assert_eq!(
        counted(&envoy, "tick"),
        2 * 2 + 5 + 2,
        "four configure lines, five and two ticks"
    );
    assert_eq!(envoy.now(), before + 5 * SECOND);
    let seen = worker.inside(|| hostcalls::get_current_time().unwrap());
    assert_eq!(seen.duration_since(std::time::UNIX_EPOCH).unwrap(), envoy.now());
}

#[test]
fn a_tick_period_of_zero_is_off() {
    let envoy = envoy("tick=1000");
    let worker = envoy.worker();
    worker.inside(|| hostcalls::set_tick_period(Duration::ZERO).unwrap());
    envoy.advance(60 * SECOND);
    assert_eq!(counted(&envoy, "tick 1"), 0);
    assert_eq!(worker.tick_period(worker.root()), None);
}

#[test]
fn the_configuration_is_readable_only_in_on_configure_and_an_empty_one_is_none() {
    let envoy = envoy("");
    let worker = envoy.worker();
    assert_eq!(counted(&envoy, "configure 0: "), 2);
    let read = || hostcalls::get_buffer(proxy_wasm::types::BufferType::PluginConfiguration, 0, 100).unwrap();
    worker.configure("some").unwrap();
    assert_eq!(worker.inside(read), None);
}

#[test]
#[should_panic(expected = "a drain ends when its last stream does")]
fn a_root_context_with_a_stream_is_not_retired() {
    let worker = envoy("").worker();
    let _stream = worker.open(Request::get("/"), Route::to("web"));
    worker.retire(worker.root());
}
