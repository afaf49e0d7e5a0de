//! What a row shows of an answer.

use burst_testkit::browser::Browser;
use serde_json::{Value, json};

use crate::server::{Answer, NAMES, NOTICE, PageServer, STATE, cells, load};

#[test]
fn a_row_has_the_numbers_and_a_state_in_words() {
    let rows = json!({"shop/a": load(1, 8, 10), "shop/b": load(9, 8, 10), "shop/c": load(10, 8, 10)});
    let (browser, server) = (Browser::start(), PageServer::start(Answer::rows(&rows)));
    let page = server.open(&browser);
    page.wait_for(NAMES, &json!(["shop/a", "shop/b", "shop/c"]));
    assert_eq!(page.value(&cells("shop/a")), json!(["1", "8", "10", "9", "ok"]));
    assert_eq!(
        page.value(&cells("shop/b")),
        json!(["9", "8", "10", "1", "above target"])
    );
    assert_eq!(page.value(&cells("shop/c")), json!(["10", "8", "10", "0", "full"]));
    assert_eq!(page.value("document.title"), json!("1 full: burst-metrics"));
    let workloads = page.value("[...document.querySelectorAll('#body th small')].map(e => e.textContent)");
    assert_eq!(workloads, json!(["shop/web", "shop/web", "shop/web"]));
    page.wait(
        "the age",
        "/^read [2-9] s ago$/.test(document.getElementById('age').textContent)",
    );
    let used = "document.querySelector('#body tr:nth-child(2) .used').getAttribute('width')";
    assert_eq!(page.value(used), json!("90"), "the width of the bar in percent");
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn ready_demand_and_state_are_shown_where_an_answer_has_them() {
    let mut limited = load(5, 4, 5);
    for (key, value) in [("ready", json!(3)), ("demand", json!(7)), ("state", json!("limited"))] {
        limited[key] = value;
    }
    let rows = json!({"shop/a": limited, "shop/b": load(1, 4, 5)});
    let (browser, server) = (Browser::start(), PageServer::start(Answer::rows(&rows)));
    let page = server.open(&browser);
    page.wait_for(&cells("shop/a"), &json!(["5", "4", "5", "0", "3", "7", "limited"]));
    assert_eq!(
        page.value(&cells("shop/b")),
        json!(["1", "4", "5", "4", "–", "–", "ok"])
    );
    let width = |class: &str| {
        page.value(&format!(
            "document.querySelector('#body tr {class}').getAttribute('width')"
        ))
    };
    assert_eq!(
        (width(".track"), width(".used")),
        (json!("71.4"), json!("71.4")),
        "5 of the 7 that are needed"
    );
    server.answer(Answer::rows(&json!({"shop/b": load(1, 4, 5)})));
    page.wait_for(&cells("shop/b"), &json!(["1", "4", "5", "4", "ok"]));
}

#[test]
fn names_and_values_are_text_and_never_html() {
    let image = "<img src=x onerror=\"document.title='run'\">";
    let script = "</script><script>document.title='run'</script>";
    let rows = json!({
        image: load(1, 2, 3),
        "__proto__": load(1, 2, 3),
        script: {"service": image, "current": image, "target": {"toString": 1}, "max": [1], "headroom": -1, "state": script},
        "shop/null": null,
        "shop/many": {"current": 1e308, "target": "8", "max": 4_294_967_295_u32, "state": 7},
    });
    let (browser, server) = (Browser::start(), PageServer::start(Answer::rows(&rows)));
    let page = server.open(&browser);
    page.wait_for(NAMES, &json!([script, image, "__proto__", "shop/many", "shop/null"]));
    assert_eq!(page.value(&cells(image)), json!(["1", "2", "3", "2", "ok"]));
    assert_eq!(page.value(&cells(script)), json!(["–", "–", "–", "–", script]));
    assert_eq!(page.value(&cells("shop/null")), json!(["–", "–", "–", "–", "ok"]));
    let count = |selector: &str| page.value(&format!("document.querySelectorAll({selector:?}).length"));
    assert_eq!((count("img"), count("script")), (json!(0), json!(1)));
    assert_eq!(page.value("document.title"), json!("1 full: burst-metrics"));
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn what_is_not_a_list_of_services_is_a_message() {
    let (browser, server) = (
        Browser::start(),
        PageServer::start(Answer::new(200, "<html>a login page</html>")),
    );
    let page = server.open(&browser);
    page.wait_for(STATE, &json!("refused"));
    let notice = page.value(NOTICE);
    assert!(
        notice
            .as_str()
            .is_some_and(|notice| notice.starts_with("the answer cannot be read: ")),
        "{notice}"
    );
    server.answer(Answer::rows(&json!([1, 2])));
    page.wait_for(
        NOTICE,
        &json!("the answer cannot be read: the answer is not a JSON object"),
    );
    server.answer(Answer::rows(&json!({})));
    page.wait_for(STATE, &json!("empty"));
    assert_eq!(page.value(NOTICE), Value::Null);
    let empty = "document.getElementById('empty').checkVisibility() && document.getElementById('empty').textContent";
    assert_eq!(page.value(empty), json!("No service has a HorizontalPodAutoscaler."));
}
