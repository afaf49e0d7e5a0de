//! Lists that are watched, as they are unless the configuration says otherwise.

use super::kube::Kube;
use super::{SECOND, envoy};
use std::time::Duration;

const PLAIN: &str = r#"{"cluster":"kube_api"}"#;

/// How many of these paths list, and how many watch.
fn verbs(asked: &[String]) -> (usize, usize) {
    let (watches, lists): (Vec<_>, Vec<_>) = asked.iter().partition(|path| path.contains("watch=1"));
    (lists.len(), watches.len())
}

#[test]
fn each_list_is_read_once_and_then_what_changed() {
    let kube = Kube::new().with("shop/api", 1, 4);
    let envoy = envoy(PLAIN, &kube);
    let _main = envoy.main_thread();
    let workers = [envoy.worker(), envoy.worker()];
    envoy.advance(SECOND).answer();
    assert_eq!(verbs(&kube.asked()).0, 4);
    kube.scale("shop/web", 3);
    kube.delete("shop/api");
    envoy.advance(Duration::from_secs(30)).answer();
    let (lists, watches) = verbs(&kube.asked());
    assert!(lists == 0 && watches > 4, "{lists} lists and {watches} watches");
    for vm in workers {
        let header = vm.response("web.shop").header("x-burst").map(ToOwned::to_owned);
        assert!(header.unwrap_or_default().contains("current-load=3"));
        assert_eq!(vm.response("api.shop").header("x-burst"), None);
    }
}
