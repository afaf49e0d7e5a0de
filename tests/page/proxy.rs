//! The page on the real filter, in a real Envoy.

use burst_testkit::Version;
use burst_testkit::browser::{Browser, Page};
use burst_testkit::filter::{Backend, Proxy};
use serde_json::json;

use crate::server::{NOTICE, STATE, cells, url};

/// The first service of the sample cluster.
const NGSA_1: &str = "default/ngsa-svc-1";

fn open(browser: &Browser, proxy: &Proxy) -> Page {
    browser.open(&url(proxy.envoy.listener("main")))
}

#[test]
fn the_numbers_follow_the_cluster() {
    let backend = Backend::sample();
    let (proxy, _) = Proxy::start(Version::Tested, &backend, json!({"endpoints": {"page": true}}));
    let browser = Browser::start();
    let page = open(&browser, &proxy);
    page.wait_for(&cells(NGSA_1), &json!(["1", "4", "5", "4", "ok"]));
    page.wait_for(STATE, &json!("live"));
    for (replicas, expected) in [
        (5, json!(["5", "4", "5", "0", "full"])),
        (3, json!(["3", "4", "5", "2", "ok"])),
    ] {
        backend.scale_ngsa_1(replicas);
        page.wait_for(&cells(NGSA_1), &expected);
    }
    let past = "document.querySelectorAll('#body [data-column=history]')[1].textContent";
    page.wait_for(past, &json!("between 1 and 5 replicas"));
    let unchanged = "performance.getEntriesByType('resource').some(entry => entry.responseStatus === 304)";
    page.wait("a long poll that ends without a change", unchanged);
    assert_eq!(page.value(STATE), json!("live"));
    let own = url(proxy.envoy.listener("main"));
    let (first, more) = (page.requests()[0].clone(), page.requests()[1..].to_vec());
    assert_eq!(first, own);
    let services = format!("{own}services?format=json");
    assert!(more.iter().all(|request| request.starts_with(&services)), "{more:?}");
    assert!(
        more.iter().any(|request| request.ends_with("&wait=10s")),
        "long polls: {more:?}"
    );
    assert_eq!(page.problems(), [""; 0], "no errors, and no violation of the policy");
}

#[test]
fn no_data_stale_data_and_a_lost_proxy_are_shown() {
    let mut backend = Backend::sample();
    backend.refuse_connections();
    let keys = json!({"endpoints": {"page": true}, "max_staleness": "10s"});
    let (proxy, _) = Proxy::start(Version::Tested, &backend, keys);
    let browser = Browser::start();
    let page = open(&browser, &proxy);
    page.wait_for(STATE, &json!("none"));
    assert_eq!(
        page.value(NOTICE),
        json!("not synced yet: the Kubernetes API was never read in full")
    );
    backend.accept_connections();
    page.wait_for(STATE, &json!("live"));
    page.wait_for(&cells(NGSA_1), &json!(["1", "4", "5", "4", "ok"]));
    backend.refuse_connections();
    page.wait_for(STATE, &json!("stale"));
    let notice = page.value(NOTICE);
    let stale = "too stale: the Kubernetes API was last read ";
    assert!(
        notice.as_str().is_some_and(|notice| notice.starts_with(stale)),
        "{notice}"
    );
    drop(proxy);
    page.wait_for(STATE, &json!("lost"));
    let lost = "the proxy cannot be reached; the page tries again by itself. The numbers below are old.";
    assert_eq!(page.value(NOTICE), json!(lost));
    let problems = page.problems();
    assert!(
        problems.iter().all(|problem| problem.starts_with("network: ")),
        "{problems:?}"
    );
}
