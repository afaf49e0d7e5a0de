//! The request counts of one VM. All root contexts with the same counting settings share them: the one of a new
//! configuration and those that are draining.

use super::{MAX_VMS, is_due};
use crate::host;
use crate::shared_data::{LazyId, Slots};
use burst_model::config::{Config, RequestsConfig};
use burst_model::records::RequestCountKeys;
use burst_model::request_rates::{Meter, MeterSlot, SlidingWindow, is_rejected};
use burst_model::sync::election::VmId;
use burst_model::time::Time;
use burst_model::upstream::{UpstreamHints, Upstreams};
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::time::Duration;

thread_local! {
    /// By the hash of their settings, for as long as a root context counts.
    static COUNTERS: RefCell<Vec<(u64, Weak<RequestCounter>)>> = const { RefCell::new(Vec::new()) };
}

#[derive(Debug)]
pub(crate) struct RequestCounter {
    meter: RefCell<Meter>,
    window: RefCell<SlidingWindow>,
    slots: Slots,
    /// Taken in the first tick. Envoy tries a configuration in a canary VM, which must write nothing.
    id: LazyId,
    published: Cell<Option<Time>>,
}

impl RequestCounter {
    /// The counter of this VM for a configuration. `None` if it counts no requests.
    pub(crate) fn of(config: &Config) -> Option<Rc<Self>> {
        let requests = config.requests.as_deref()?;
        let settings = config.counting_hash();
        COUNTERS.with_borrow_mut(|counters| {
            counters.retain(|(_, counter)| counter.strong_count() > 0);
            let known = counters.iter().find(|(known, _)| *known == settings);
            let counter = known.and_then(|(_, counter)| counter.upgrade()).unwrap_or_else(|| {
                let counter = Rc::new(Self::new(RequestCountKeys::new(settings), requests));
                counters.push((settings, Rc::downgrade(&counter)));
                counter
            });
            Some(counter)
        })
    }

    fn new(keys: RequestCountKeys, requests: &RequestsConfig) -> Self {
        Self {
            meter: RefCell::default(),
            window: RefCell::new(SlidingWindow::new(requests.window, host::now())),
            slots: Slots::new(keys.vms, MAX_VMS),
            id: LazyId::default(),
            published: Cell::new(None),
        }
    }

    /// Counts a response.
    pub(crate) fn answered(&self, upstreams: &Upstreams, cluster: &[u8], hints: &impl UpstreamHints, status: &[u8]) {
        let mut meter = self.meter.borrow_mut();
        meter.count_response(upstreams, cluster, hints, is_rejected(status));
    }

    /// Counts a request as in flight until the returned value is dropped.
    pub(crate) fn begin(
        self: Rc<Self>,
        upstreams: &Upstreams,
        cluster: &[u8],
        hints: &impl UpstreamHints,
    ) -> Option<InFlightRequest> {
        let slot = self.meter.borrow_mut().begin(upstreams, cluster, hints)?;
        Some(InFlightRequest { counter: self, slot })
    }

    /// Called once a tick: moves the window, and publishes the counts of this VM once in `interval`.
    pub(crate) fn tick(&self, interval: Duration, now: Time) {
        let (mut meter, mut window) = (self.meter.borrow_mut(), self.window.borrow_mut());
        window.tick(&mut meter, now);
        if !is_due(self.published.get(), interval, now) {
            return;
        }
        let Some(VmId(id)) = self.id.get() else { return };
        if let Some(tally) = window.tally(&meter, u64::from(id), now)
            && self.slots.put(tally.id, &tally.to_text()).is_ok()
        {
            self.published.set(Some(now));
        }
    }
}

/// A request that is in flight.
#[derive(Debug)]
pub(crate) struct InFlightRequest {
    counter: Rc<RequestCounter>,
    slot: MeterSlot,
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        self.counter.meter.borrow_mut().end(self.slot);
    }
}
