//! The page without a proxy: a server with the filter's own page, and with rows that the test sets.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use burst_lab::api::Reply;
use burst_lab::server::{Handler, Server};
use burst_model::serve::page;
use burst_testkit::browser::{Browser, Page};
use burst_testkit::filter::serve;
use bytes::Bytes;
use http::{Request, Response};
use serde_json::{Value, json};

/// The server, and its answer to requests for the Services.
pub(crate) struct PageServer {
    server: Server,
    answer: Arc<Mutex<Answer>>,
}

/// An answer for the Services.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn new(status: u16, body: impl Into<String>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.into(),
        }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// 200 with these rows, which were read two seconds ago.
    pub(crate) fn rows(rows: &Value) -> Self {
        Self::new(200, rows.to_string()).header("x-burst-confirmed", "at=1700000000000, age=2000")
    }
}

/// The numbers of a Service.
pub(crate) fn load(current: u32, target: u32, max: u32) -> Value {
    json!({
        "service": "shop/web", "current": current, "target": target, "max": max, "headroom": max.saturating_sub(current),
        "asOf": 1_700_000_000,
    })
}

impl PageServer {
    pub(crate) fn start(answer: Answer) -> Self {
        let answer = Arc::new(Mutex::new(answer));
        let server = serve(Front(answer.clone()));
        Self { server, answer }
    }

    pub(crate) fn answer(&self, answer: Answer) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = answer;
    }

    pub(crate) fn url(&self) -> String {
        url(self.server.addr())
    }

    pub(crate) fn open(&self, browser: &Browser) -> Page {
        browser.open(&self.url())
    }
}

pub(crate) fn url(address: SocketAddr) -> String {
    format!("http://{address}/burstmetrics/")
}

/// The names in the rows that are in the page, from top to bottom.
pub(crate) const NAMES: &str = "[...document.querySelectorAll('#body th span')].map(e => e.textContent)";

/// The texts of the cells of a row that have numbers, and of its state.
pub(crate) fn cells(name: &str) -> String {
    let rows = "[...document.querySelectorAll('#body tr')]";
    format!(
        "{rows}.filter(r => r.querySelector('th span').textContent === {name:?})
            .map(r => [...r.querySelectorAll('.number, .state')]
                .filter(c => c.checkVisibility()).map(c => c.textContent))[0]"
    )
}

/// What the page says of its connection.
pub(crate) const STATE: &str = "document.getElementById('connection').dataset.state";

/// The message above the rows; null if there is none.
pub(crate) const NOTICE: &str =
    "document.getElementById('notice').checkVisibility() ? document.getElementById('notice').textContent : null";

struct Front(Arc<Mutex<Answer>>);

impl Handler for Front {
    fn handle(&self, request: &Request<Bytes>) -> Reply {
        let answer = match request.uri().path() {
            "/burstmetrics/" => {
                let page = page::reply(None);
                Answer {
                    status: page.status,
                    headers: page.headers,
                    body: String::from_utf8(page.body.to_vec()).expect("a text"),
                }
            }
            "/burstmetrics/services" => self.0.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            _ => Answer::new(404, "no such path"),
        };
        let response = Response::builder().status(answer.status);
        let headers = answer.headers.into_iter();
        let response = headers.fold(response, |response, (name, value)| response.header(name, value));
        Reply::Response(response.body(answer.body.into()).expect("a response"))
    }
}
