//! Filter, order and movement, by keyboard and mouse, and what a screen reader is told.

use burst_testkit::browser::Browser;
use serde_json::{Value, json};

use crate::server::{Answer, NAMES, PageServer, load};

/// The name of the row that has the focus.
const FOCUSED: &str = "document.activeElement.querySelector?.('th span')?.textContent";

fn rows() -> Value {
    json!({
        "data/queue": load(5, 8, 10), "shop/cart": load(10, 8, 10), "shop/checkout": load(9, 8, 10), "shop/web": load(1, 8, 10),
    })
}

#[test]
fn a_filter_and_an_order_choose_the_rows() {
    let (browser, server) = (Browser::start(), PageServer::start(Answer::rows(&rows())));
    let page = server.open(&browser);
    page.wait_for(NAMES, &json!(["data/queue", "shop/cart", "shop/checkout", "shop/web"]));
    page.press("/");
    page.type_text("shop c");
    page.wait_for(NAMES, &json!(["shop/cart", "shop/checkout"]));
    let shown = "document.getElementById('shown').textContent";
    assert_eq!(page.value(shown), json!("2 of 4 services"));
    page.click("[data-column=headroom] button");
    page.click("[data-column=headroom] button");
    page.wait_for(NAMES, &json!(["shop/checkout", "shop/cart"]));
    let sorted = "[...document.querySelectorAll('#head th')].filter(e => e.ariaSort !== 'none' && e.ariaSort)
        .map(e => [e.dataset.column, e.ariaSort])";
    assert_eq!(page.value(sorted), json!([["headroom", "descending"]]));

    let address = page.value("location.href");

    page.press("/");
    page.press("Escape");
    page.wait_for(NAMES, &json!(["shop/web", "data/queue", "shop/checkout", "shop/cart"]));
    page.click("[data-level=full]");
    page.wait_for(NAMES, &json!(["shop/cart"]));
    let pressed = "[...document.querySelectorAll('#levels button')].map(e => [e.textContent, e.ariaPressed])";
    assert_eq!(
        page.value(pressed),
        json!([["All 4", "false"], ["Above target 1", "false"], ["Full 1", "true"]])
    );
    page.press("/");
    page.type_text("nothing");
    page.wait_for(
        "document.getElementById('empty').textContent",
        &json!("No service matches the filter."),
    );
    let again = browser.open(address.as_str().expect("a URL"));
    again.wait_for(NAMES, &json!(["shop/checkout", "shop/cart"]));
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn the_keyboard_reaches_everything_and_the_focus_stays_with_its_service() {
    let (browser, server) = (Browser::start(), PageServer::start(Answer::rows(&rows())));
    let page = server.open(&browser);
    page.wait_for(NAMES, &json!(["data/queue", "shop/cart", "shop/checkout", "shop/web"]));
    let mut stops = Vec::new();
    for _ in 0..12 {
        page.press("Tab");
        let stop = "document.activeElement.id || document.activeElement.textContent.trim()";
        stops.push(page.value(stop).as_str().unwrap_or_default().to_owned());
        let outline = page.value("getComputedStyle(document.activeElement).outlineStyle");
        assert_eq!(outline, json!("solid"), "{stops:?}");
    }
    assert_eq!(stops[..4], ["filter", "All 4", "Above target 1", "Full 1"]);
    assert_eq!(
        stops[4..11],
        ["Service ▲", "Used", "Current", "Target", "Max", "Free", "State"]
    );
    page.wait_for(FOCUSED, &json!("data/queue"));
    for (key, name) in [
        ("ArrowDown", "shop/cart"),
        ("ArrowDown", "shop/checkout"),
        ("ArrowUp", "shop/cart"),
        ("End", "shop/web"),
        ("ArrowDown", "shop/web"),
        ("Home", "data/queue"),
        ("ArrowDown", "shop/cart"),
    ] {
        page.press(key);
        page.wait_for(FOCUSED, &json!(name));
    }
    let mut more = rows();
    more["a/new"] = load(1, 2, 3);
    server.answer(Answer::rows(&more));
    page.wait_for("document.querySelectorAll('#body tr').length", &json!(5));
    assert_eq!(page.value(FOCUSED), json!("shop/cart"));
}

#[test]
fn a_screen_reader_finds_a_table() {
    let (browser, server) = (Browser::start(), PageServer::start(Answer::rows(&rows())));
    let page = server.open(&browser);
    page.wait_for(NAMES, &json!(["data/queue", "shop/cart", "shop/checkout", "shop/web"]));
    let roles = |selector: &str| {
        page.value(&format!(
            "[...new Set([...document.querySelectorAll({selector:?})].map(e => e.role))]"
        ))
    };
    assert_eq!(roles("#services"), json!(["table"]));
    assert_eq!(roles("#services tr"), json!(["row"]));
    assert_eq!(roles("#head th"), json!(["columnheader"]));
    assert_eq!(roles("#body th"), json!(["rowheader"]));
    assert_eq!(roles("#body td"), json!(["cell"]));
    assert_eq!(
        page.value("document.getElementById('services').getAttribute('aria-rowcount')"),
        json!("5")
    );
    let indexes =
        page.value("[...document.querySelectorAll('#services tr')].map(e => e.getAttribute('aria-rowindex'))");
    assert_eq!(indexes, json!(["1", "2", "3", "4", "5"]));
    let past = "document.querySelector('#body [data-column=history]').textContent";
    assert_eq!(page.value(past), json!("5 replicas all the time"));
    let unnamed =
        "[...document.querySelectorAll('input, button')].filter(e => !e.textContent && !e.labels?.length).length";
    assert_eq!(page.value(unnamed), json!(0), "each control has a name");
}
