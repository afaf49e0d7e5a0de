//! A hub that only keeps the newest report, so that a test can read the counts of a proxy.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::wait;
use burst_lab::api::Reply;
use burst_lab::server::{Handler, Server};
use burst_model::request_rates::{RequestCounts, Tally, report};
use bytes::Bytes;
use http::{Request, Response, StatusCode};

use super::PATIENCE;
use super::backend::serve;

/// The newest report of a proxy.
pub struct Reports {
    newest: Arc<Mutex<String>>,
    server: Server,
}

impl Reports {
    /// Listens on a free port.
    pub fn start() -> Self {
        let newest = Arc::default();
        let server = serve(Keeper(Arc::clone(&newest)));
        Self { newest, server }
    }

    /// Its address.
    pub fn addr(&self) -> SocketAddr {
        self.server.addr()
    }

    /// What the newest report says of a Service.
    pub fn of(&self, service: &str) -> Option<RequestCounts> {
        let text = self.newest.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let share = Tally::parse(text.as_bytes()).ok()?;
        let found = share.services.iter().find(|(name, _)| *name == service)?;
        Some(found.1)
    }

    /// Waits until what the newest report says of a Service fits.
    ///
    /// # Panics
    /// When it does not in time.
    #[track_caller]
    pub fn wait_for(&self, service: &str, what: &str, fits: impl Fn(RequestCounts) -> bool) {
        wait::for_ok(PATIENCE, what, || match self.of(service) {
            Some(count) if fits(count) => Ok(()),
            other => Err(format!("{service}: {other:?}")),
        });
    }
}

struct Keeper(Arc<Mutex<String>>);

impl Handler for Keeper {
    fn handle(&self, request: &Request<Bytes>) -> Reply {
        let mut answer = Response::new(Bytes::new());
        *answer.status_mut() = StatusCode::NO_CONTENT;
        let text = request
            .headers()
            .get(report::HEADER)
            .and_then(|text| text.to_str().ok());
        match text {
            Some(text) if request.uri().path() == report::PATH => {
                text.clone_into(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
            }
            _ => *answer.status_mut() = StatusCode::BAD_REQUEST,
        }
        Reply::Response(answer)
    }
}
