//! Paged lists.

use burst_lab::cluster::HPAS;
use burst_testkit::{
    Version,
    filter::{Backend, Client, PATIENCE, Proxy, listing},
    http::Request,
    wait,
};
use serde_json::json;

on_each_envoy!(
    a_list_is_read_page_by_page,
    a_list_that_expired_between_two_pages_is_read_again,
);

const APPS: usize = 60;
const PAGE: usize = 7;

/// Waits until every service has that many current replicas.
fn wait_for_all(main: &mut Client, current: u32) {
    let load = format!("current-load={current},");
    let what = format!("{APPS} services with {load}");
    main.wait(&Request::get("/burstmetrics/services"), &what, |answer| {
        answer.body.matches(&load).count() == APPS
    });
}

fn scale_all(backend: &Backend, replicas: u32) {
    for number in 0..APPS {
        backend
            .cluster
            .set_current_replicas(&format!("shop/app-{number:02}"), replicas)
            .expect("an HPA");
    }
}

fn a_list_is_read_page_by_page(version: Version) {
    let backend = Backend::of_apps(APPS);
    let (proxy, mut main) = Proxy::start(version, &backend, listing(json!({"page_size": PAGE})));
    wait_for_all(&mut main, 1);
    proxy.wait_for_stat("burst_objects", |count| count == 3 * APPS as u64);
    let seen = backend.api.requests.entries();
    let pages: Vec<_> = seen
        .iter()
        .filter(|seen| seen.resource == HPAS)
        .take(APPS.div_ceil(PAGE))
        .collect();
    assert!(
        pages
            .iter()
            .all(|page| page.query.starts_with(&format!("limit={PAGE}"))),
        "{pages:#?}"
    );
    let first: Vec<_> = pages.iter().map(|page| !page.query.contains("&continue=")).collect();
    assert!(
        first[0] && !first[1..].contains(&true),
        "one list from its start to its end: {pages:#?}"
    );
    scale_all(&backend, 4);
    wait_for_all(&mut main, 4);
}

fn a_list_that_expired_between_two_pages_is_read_again(version: Version) {
    let backend = Backend::of_apps(APPS);
    let (proxy, mut main) = Proxy::start(version, &backend, listing(json!({"page_size": PAGE})));
    wait_for_all(&mut main, 1);
    proxy.wait_for_main_thread();
    backend.forget_between_pages(true);
    proxy.wait_for_stat("burst_poll_expired_total", |count| count >= 6);
    let lines = proxy.log_lines("cannot list horizontalpodautoscalers.autoscaling: 410 Gone: ");
    let [line] = &lines[..] else {
        panic!("one line: {lines:#?}")
    };
    assert!(line.ends_with("; the list is read again from its start"), "{line}");
    wait_for_all(&mut main, 1);
    backend.forget_between_pages(false);
    scale_all(&backend, 4);
    wait_for_all(&mut main, 4);
    let words = "listing horizontalpodautoscalers.autoscaling works again";
    wait::until(PATIENCE, words, || proxy.log_lines(words).len() == 1);
}
