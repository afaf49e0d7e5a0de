//! Each proxy has one leader, on the right thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use burst_testkit::{
    Version,
    filter::{Backend, NGSA_1, NGSA_1_CLUSTER, PATIENCE, Plugin, Proxy, listing},
    http::{self, Request},
    port, wait,
};
use serde_json::json;

on_each_envoy!(
    four_workers_poll_no_more_often_than_one,
    leadership_moves_to_the_main_thread_once_workers_serve_and_stays_there,
    a_singleton_polls_for_workers_that_only_read,
);

/// Clusters without traffic. A config dump of this many keeps the main thread from its ticks for longer than a worker
/// waits before it takes the lease.
const BALLAST: usize = 1_500;

fn four_workers_poll_no_more_often_than_one(version: Version) {
    let proxies = [1, 2, 4].map(|workers| {
        let backend = Backend::sample();
        let proxy = Proxy::of(version)
            .workers(workers)
            .listener("main", listing(json!({})))
            .start(&backend);
        let mut main = proxy.client("main");
        main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
        proxy.wait_for_main_thread();
        (workers, backend, proxy, main)
    });
    thread::scope(|scope| {
        for (workers, backend, ..) in &proxies {
            let thread = thread::Builder::new().name(format!("{workers} workers"));
            let watched = thread.spawn_scoped(scope, || backend.wait_for_polls_of_one());
            watched.expect("a thread");
        }
    });
}

fn leadership_moves_to_the_main_thread_once_workers_serve_and_stays_there(version: Version) {
    let backend = Backend::sample();
    let port = port::free();
    let plugin = |percent: u8| Plugin::new("main", json!({"target_percent": percent})).port(port);
    let mut setup = Proxy::of(version);
    for number in 0..BALLAST {
        setup = setup.cluster(json!({"name": format!("ballast-{number}")}));
    }
    let setup = setup.argument("--drain-time-s").argument("1");
    let proxy = setup.plugin(plugin(80)).start(&backend);
    wait::until(PATIENCE, "a poller", || proxy.leader().is_some());
    let main_thread = Some(proxy.envoy.id());

    // The threads race for the lease of each new configuration, and the main thread has an advantage.
    let busy = BusyMainThread::start(&proxy);
    for percent in (1..80).rev() {
        let before = proxy.leader_changes();
        proxy.replace_listeners(&[plugin(percent)]);
        wait::until(PATIENCE, "a poller of the new configuration", || {
            proxy.leader_changes() > before
        });
        // Each configuration has its own lease, which moves independently.
        proxy.wait_for_the_drain();
        if proxy.leader() != main_thread {
            break;
        }
    }
    drop(busy);
    let lines = proxy.leader_changes();
    assert_ne!(proxy.leader(), main_thread, "no worker was ever faster");
    let stays = || proxy.leader_changes() == lines;
    wait::throughout(
        Duration::from_secs(2),
        "no thread has served, and the leader stays",
        stays,
    );

    let mut main = proxy.client("main");
    main.ask_each(&Request::to(NGSA_1_CLUSTER));
    wait::until(PATIENCE, "the main thread polls", || proxy.leader() == main_thread);
    let lines = proxy.leader_changes();
    wait::throughout(Duration::from_secs(3), "the main thread goes on", || {
        main.ask_each(&Request::to(NGSA_1_CLUSTER));
        proxy.leader_changes() == lines
    });
    wait::for_ok(PATIENCE, "a count of each change", || {
        let (told, lines) = (proxy.stat("burst_leader_changes_total"), proxy.leader_changes());
        if told == lines as u64 {
            Ok(())
        } else {
            Err(format!("{told} of {lines}"))
        }
    });
}

fn a_singleton_polls_for_workers_that_only_read(version: Version) {
    let backend = Backend::sample();
    let reader = json!({"role": "reader"});
    let proxy = Proxy::of(version)
        .singleton(json!({}))
        .listener("main", reader)
        .start(&backend);
    let mut main = proxy.client("main");
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    backend.scale_ngsa_1(3);
    let risen = NGSA_1.replace("current-load=1", "current-load=3");
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&risen));
    assert_eq!((proxy.leader_changes(), proxy.leader()), (1, Some(proxy.envoy.id())));
}

/// Clients that keep Envoy's main thread busy with requests to the admin interface.
struct BusyMainThread {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl BusyMainThread {
    fn start(proxy: &Proxy) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let spawn_client = || {
            let (stop, url) = (stop.clone(), proxy.envoy.admin_url("/config_dump"));
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    http::get(&url);
                }
            })
        };
        let threads = (0..4).map(|_| spawn_client()).collect();
        Self { stop, threads }
    }
}

impl Drop for BusyMainThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            drop(thread.join());
        }
    }
}
