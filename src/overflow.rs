//! Overflow: marks the requests that go to another cluster, for Envoy's routes.

use crate::host;
use crate::log;
use crate::shared_data::View;
use crate::vm;
use burst_model::config::{OverflowConfig, OverflowKey};
use burst_model::failure_state::FailureState;
use burst_model::serve::cache::Freshness;
use burst_model::serve::overflow::{HEADER, Share};
use burst_model::upstream::UpstreamHints;
use std::cell::RefCell;
use std::rc::Rc;

/// Where a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestOrigin {
    /// It had no `x-burst-overflow`.
    Client,
    /// It had one. A client has set it, or another cluster has sent the request here.
    MaybeOverflow,
}

/// Whether a request goes where Envoy's route has sent it at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Unchanged,
    Changed,
}

/// Marks requests, if that is configured.
pub(crate) struct Overflow {
    view: Rc<View>,
    staleness: RefCell<FailureState<&'static str>>,
}

impl Overflow {
    pub(crate) fn new(view: &Rc<View>) -> Self {
        Self {
            view: view.clone(),
            staleness: RefCell::default(),
        }
    }

    fn config(&self) -> Option<&OverflowConfig> {
        self.view.config.overflow.as_deref()
    }

    /// Notes whether the numbers are recent enough. Logs when that changes.
    pub(crate) fn refresh(&self) {
        // The main thread has no requests.
        if self.config().is_none() || !vm::has_served() {
            return;
        }
        let outcome = match self.view.cache.borrow().freshness() {
            Freshness::Stale(_) => Err("the snapshot is too old"),
            Freshness::Fresh | Freshness::Unsynced => Ok(()),
        };
        log::state_change(
            self.staleness.borrow_mut().update(outcome).as_ref(),
            "no request overflows to another cluster",
            "requests can overflow to another cluster again",
        );
    }

    /// Removes `x-burst-overflow` from the current request, because a client could choose the cluster with it.
    pub(crate) fn take_header(&self) -> RequestOrigin {
        if self.config().is_none() || !host::has_request_header(HEADER) {
            return RequestOrigin::Client;
        }
        host::set_routing_header(HEADER, None);
        vm::stats().overflow_removed.count();
        RequestOrigin::MaybeOverflow
    }

    /// Marks the current request if it has to overflow.
    pub(crate) fn route(&self, origin: RequestOrigin, hints: &impl UpstreamHints) -> Route {
        match (self.config(), origin) {
            (Some(config), RequestOrigin::Client) => self.route_by_share(config, hints),
            // Two full clusters would send it to each other again and again. And Envoy still names the cluster that the
            // removed header has chosen.
            (Some(_), RequestOrigin::MaybeOverflow) | (None, _) => Route::Unchanged,
        }
    }

    fn route_by_share(&self, config: &OverflowConfig, hints: &impl UpstreamHints) -> Route {
        let share = self.share(hints);
        if share.is_none() || !key(&config.key).is_some_and(|key| share.includes(&key)) {
            return Route::Unchanged;
        }
        let stats = vm::stats();
        if config.dry_run {
            stats.overflow_dry_run.count();
            return Route::Unchanged;
        }
        stats.overflow_sent.count();
        host::set_routing_header(HEADER, Some("1"));
        Route::Changed
    }

    /// What overflows of the requests for the Service behind the current route.
    fn share(&self, hints: &impl UpstreamHints) -> Share {
        let mut cache = self.view.cache.borrow_mut();
        if cache.freshness() != Freshness::Fresh {
            vm::stats().overflow_stale.count();
            return Share::NONE;
        }
        host::cluster_name().map_or(Share::NONE, |cluster| {
            cache.upstream(&self.view.config, &cluster, hints).overflow
        })
    }
}

/// The value of the current request that decides whether it overflows. `None` if Envoy knows no address of the client.
fn key(key: &OverflowKey) -> Option<Vec<u8>> {
    match key {
        OverflowKey::Source => None,
        OverflowKey::Header(name) => host::request_header(name),
    }
    .or_else(source)
}

/// The address of the client without its port, which differs for each connection.
fn source() -> Option<Vec<u8>> {
    let mut address = host::source_address()?;
    if let Some(end) = address.iter().rposition(|byte| *byte == b':') {
        address.truncate(end);
    }
    Some(address)
}
