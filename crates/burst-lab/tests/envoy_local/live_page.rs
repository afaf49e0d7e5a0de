//! The live page, as `make run` serves it. With BURST_PICTURE=path the test also writes the picture of docs/live-page.md.

use std::{env, fs};

use burst_testkit::browser::Browser;
use serde_json::json;

use crate::folder::LocalFolder;

/// The names in the rows.
const NAMES: &str = "[...document.querySelectorAll('#body th span')].map(e => e.textContent)";

/// The number of values that each history has.
const VALUES: &str = "Math.min(...[...document.querySelectorAll('#body .past:not(.target, .demand)')]
    .map(e => e.getAttribute('d').split('H').length - 1))";

/// The size of the picture.
const SIZE: (u32, u32) = (1100, 420);

#[test]
fn a_browser_sees_the_load_rise_and_fall() {
    let folder = LocalFolder::new();
    let _lab = folder.start("burst-lab", &mut folder.run());
    folder.header("checkout.shop.svc.cluster.local");
    let browser = Browser::start();
    let (width, height) = SIZE;
    let blank = browser.open("data:text/html,<title>blank</title>");
    blank.resize(width, height);
    let blank = blank.screenshot().len();
    let page = browser.open(&format!("http://{}/burstmetrics/", folder.addr("8080")));
    page.resize(width, height);
    page.wait_for(
        NAMES,
        &json!(["data/queue", "default/ngsa-svc-1", "ngsa/ngsa-svc-2", "shop/checkout"]),
    );
    page.wait_for("document.getElementById('state').textContent", &json!("Live"));
    page.wait("two values of each service", &format!("{VALUES} >= 2"));
    let picture = page.screenshot().len();
    assert!(
        picture > 4 * blank,
        "{picture} bytes, and a page without anything has {blank}"
    );
    assert_eq!(page.problems(), [""; 0]);
    if let Some(path) = env::var_os("BURST_PICTURE") {
        page.wait("a minute of history", &format!("{VALUES} >= 12"));
        fs::write(&path, page.screenshot()).unwrap();
    }
}
