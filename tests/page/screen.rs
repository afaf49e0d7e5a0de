//! The page on different screens.

use burst_testkit::browser::Browser;
use serde_json::json;

use crate::server::{Answer, NAMES, PageServer, cells, load};

#[test]
fn a_phone_shows_every_number_without_scrolling_sideways() {
    let long = format!("{}/{}", "n".repeat(63), "s".repeat(63));
    let rows = json!({&long: load(1_000, 8_000, 10_000), "shop/web": load(1, 8, 10)});
    let (browser, server) = (Browser::start(), PageServer::start(Answer::rows(&rows)));
    let page = server.open(&browser);
    page.resize(360, 740);
    page.wait_for(NAMES, &json!([long, "shop/web"]));
    page.wait(
        "the layout of a phone",
        "getComputedStyle(document.querySelector('#body .number'), '::before').display === 'block'",
    );
    assert_eq!(page.value(&cells("shop/web")), json!(["1", "8", "10", "9", "ok"]));
    assert_eq!(page.value("document.documentElement.scrollWidth <= 360"), json!(true));
    let inside = "[...document.querySelectorAll('#body tr')].every(row => {
        const box = row.getBoundingClientRect();
        return [...row.children].every(cell => cell.getBoundingClientRect().bottom <= box.bottom + 1);
    })";
    assert_eq!(page.value(inside), json!(true), "no cell is outside its row");
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn dark_and_reduced_motion_are_followed() {
    let (browser, server) = (
        Browser::start(),
        PageServer::start(Answer::rows(&json!({"shop/web": load(1, 8, 10)}))),
    );
    let page = server.open(&browser);
    page.wait_for(NAMES, &json!(["shop/web"]));
    let colors = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]";
    let duration = "getComputedStyle(document.querySelector('.used')).transitionDuration";
    page.prefer(&[("prefers-color-scheme", "light")]);
    assert_eq!(page.value(colors), json!(["rgb(255, 255, 255)", "rgb(31, 35, 40)"]));
    assert_eq!(page.value(duration), json!("0.4s"));
    page.prefer(&[("prefers-color-scheme", "dark"), ("prefers-reduced-motion", "reduce")]);
    assert_eq!(page.value(colors), json!(["rgb(13, 17, 23)", "rgb(230, 237, 243)"]));
    assert_eq!(page.value(duration), json!("0s"));
}
