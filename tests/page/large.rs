//! Many Services.

use burst_testkit::browser::Browser;
use serde_json::{Map, Value, json};

use crate::server::{Answer, NAMES, PageServer, load};

const SERVICES: usize = 10_000;

/// The most nodes that a screen of rows may take.
const MOST_NODES: u64 = 3_000;

#[test]
fn of_ten_thousand_services_only_those_on_the_screen_are_in_the_page() {
    let rows: Map<String, Value> = (0..SERVICES)
        .map(|number| (format!("shop/app-{number:05}"), load(1, 8, 10)))
        .collect();
    let (browser, server) = (Browser::start(), PageServer::start(Answer::rows(&rows.into())));
    let page = server.open(&browser);
    page.resize(1280, 800);
    page.wait_for(
        "document.getElementById('shown').textContent",
        &json!("10000 of 10000 services"),
    );
    let nodes = || {
        page.value("document.querySelectorAll('*').length")
            .as_u64()
            .expect("a number")
    };
    assert!(nodes() < MOST_NODES, "{} nodes", nodes());
    assert_eq!(page.value(&format!("{NAMES}[0]")), json!("shop/app-00000"));

    page.value("scrollTo(0, document.documentElement.scrollHeight)");
    page.wait_for(&format!("{NAMES}.at(-1)"), &json!("shop/app-09999"));
    assert!(nodes() < MOST_NODES, "{} nodes", nodes());
    let last = "document.querySelector('#body tr:last-child')";
    assert_eq!(
        page.value(&format!("{last}.getAttribute('aria-rowindex')")),
        json!("10001")
    );
    let bottom = page.value(&format!("{last}.getBoundingClientRect().bottom <= innerHeight"));
    assert_eq!(bottom, json!(true), "the last row is on the screen");

    page.press("/");
    page.type_text("09998");
    page.wait_for(NAMES, &json!(["shop/app-09998"]));
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn the_keys_reach_rows_that_are_not_in_the_page_yet() {
    let rows: Map<String, Value> = (0..1000)
        .map(|number| (format!("shop/app-{number:03}"), load(1, 8, 10)))
        .collect();
    let (browser, server) = (Browser::start(), PageServer::start(Answer::rows(&rows.into())));
    let page = server.open(&browser);
    page.wait_for(&format!("{NAMES}[0]"), &json!("shop/app-000"));
    let focused = "document.activeElement.querySelector?.('th span')?.textContent";
    page.value("document.querySelector('#body tr').focus()");
    page.press("End");
    page.wait_for(focused, &json!("shop/app-999"));
    let is_shown = "(r => r.top >= 0 && r.bottom <= innerHeight)(document.activeElement.getBoundingClientRect())";
    assert_eq!(page.value(is_shown), json!(true));
    page.press("Home");
    page.wait_for(focused, &json!("shop/app-000"));
    assert_eq!(page.value(is_shown), json!(true));
}
