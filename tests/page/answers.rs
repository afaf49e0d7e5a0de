//! What the page says if there are no current numbers.

use burst_testkit::browser::Browser;
use serde_json::{Value, json};

use crate::server::{Answer, NAMES, NOTICE, PageServer, STATE, load};

/// Whether the rows are marked as old.
const IS_OLD: &str = "document.getElementById('services').classList.contains('old')";

#[test]
fn each_failure_has_its_words_and_the_last_numbers_are_marked_as_old() {
    let rows = Answer::rows(&json!({"shop/a": load(1, 8, 10)}));
    let (browser, server) = (Browser::start(), PageServer::start(rows.clone()));
    let page = server.open(&browser);
    page.wait_for(NAMES, &json!(["shop/a"]));
    assert_eq!(page.value(IS_OLD), json!(false));
    let stale = "too stale: the Kubernetes API was last read 75 s ago, and 60 s are allowed";
    let answers = [
        (
            Answer::new(503, format!("{stale}\n")).header("x-burst-confirmed", "at=1700000000000, age=75000"),
            ("stale", format!("{stale}. The numbers below are old.")),
        ),
        (
            Answer::new(403, "RBAC: access denied"),
            (
                "refused",
                "the proxy answers 403: RBAC: access denied. The numbers below are old.".to_owned(),
            ),
        ),
        (
            Answer::new(500, ""),
            (
                "refused",
                "the proxy answers 500. The numbers below are old.".to_owned(),
            ),
        ),
    ];
    for (answer, (state, notice)) in answers {
        server.answer(answer);
        page.wait_for(STATE, &json!(state));
        page.wait_for(NOTICE, &json!(notice));
        assert_eq!(page.value(IS_OLD), json!(true), "{state}");
        server.answer(rows.clone());
        page.wait_for(STATE, &json!("live"));
        assert_eq!((page.value(IS_OLD), page.value(NOTICE)), (json!(false), Value::Null));
    }
    let problems = page.problems();
    assert!(
        problems.iter().all(|problem| problem.starts_with("network: ")),
        "{problems:?}"
    );
}

#[test]
fn a_busy_proxy_is_asked_again_and_the_numbers_stay() {
    let rows =
        |current| Answer::rows(&json!({"shop/a": load(current, 8, 10)})).header("etag", format!("W/\"{current}\""));
    let (browser, server) = (Browser::start(), PageServer::start(rows(1)));
    let page = server.open(&browser);
    page.wait_for(NAMES, &json!(["shop/a"]));
    server.answer(Answer::new(429, "too many requests wait").header("retry-after", "1"));
    let asked = page.requests().len();
    page.wait(
        "the answer",
        "performance.getEntriesByType('resource').some(entry => entry.responseStatus === 429)",
    );
    assert_eq!((page.value(STATE), page.value(IS_OLD)), (json!("live"), json!(false)));
    server.answer(rows(2));
    page.wait_for(
        "document.querySelector('[data-column=current].number:not(th)').textContent",
        &json!("2"),
    );
    let requests = page.requests();
    let after: Vec<_> = requests[asked..]
        .iter()
        .map(|url| url.ends_with("services?format=json&wait=10s"))
        .collect();
    assert_eq!(
        (after[0], after.contains(&false)),
        (true, true),
        "after 429 it asks without a wait: {requests:?}"
    );
}
