//! The endpoints below `/burstmetrics`.

mod paths;
mod settings;
mod specification;

use burst_testkit::{
    filter::Client,
    http::{Answer, Request},
};

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json; charset=utf-8";

/// Waits until every worker serves a snapshot.
fn synced(client: &mut Client) {
    client.wait(&Request::get("/burstmetrics/services"), "the first read", |answer| {
        answer.status == 200
    });
}

/// The status, content type and body. Also checks that there is no burst header.
fn essence(answer: &Answer) -> (u16, Option<&str>, &str) {
    assert_eq!(answer.header("x-burst"), None, "{answer:?}");
    (answer.status, answer.header("content-type"), &answer.body)
}
