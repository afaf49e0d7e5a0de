//! The request counts of one VM.

use super::{MAX_VMS, is_due};
use crate::ids::LazyId;
use crate::shared_data::SharedData;
use crate::slots::Slots;
use burst_model::config::RequestsConfig;
use burst_model::records::RequestCountKeys;
use burst_model::request_rates::{Meter, MeterSlot, SlidingWindow, is_rejected};
use burst_model::sync::election::VmId;
use burst_model::time::Time;
use burst_model::upstream::{UpstreamHints, Upstreams};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// Counts the requests of one VM, and publishes its counts.
#[derive(Debug)]
pub struct RequestCounter<H> {
    meter: RefCell<Meter>,
    window: RefCell<SlidingWindow>,
    slots: Slots<H>,
    /// Taken in the first tick. Envoy tries a configuration in a canary VM, which must write nothing.
    id: LazyId<H>,
    published: Cell<Option<Time>>,
    /// Of the responses that could not be counted by address, those that are already told.
    uncounted: Cell<u64>,
}

impl<H: SharedData> RequestCounter<H> {
    /// A counter that has counted nothing.
    #[must_use]
    pub fn new(keys: RequestCountKeys, requests: &RequestsConfig, now: Time) -> Self {
        Self {
            meter: RefCell::new(if requests.pods {
                Meter::with_addresses()
            } else {
                Meter::default()
            }),
            window: RefCell::new(SlidingWindow::new(requests.window, now)),
            slots: Slots::new(keys.vms, MAX_VMS),
            id: LazyId::default(),
            published: Cell::new(None),
            uncounted: Cell::new(0),
        }
    }

    /// Counts a response. `endpoint` returns the text of the endpoint that answered; it is called only if it is needed.
    pub fn answered(
        &self,
        upstreams: &Upstreams,
        cluster: &[u8],
        hints: &impl UpstreamHints,
        status: &[u8],
        endpoint: impl FnOnce() -> Option<Vec<u8>>,
    ) {
        let (mut meter, is_rejected) = (self.meter.borrow_mut(), is_rejected(status));
        if meter.count_response(upstreams, cluster, hints, is_rejected) {
            meter.count_address(endpoint, is_rejected);
        }
    }

    /// How many responses could not be counted by address since the last call.
    pub fn take_uncounted_addresses(&self) -> u64 {
        let uncounted = self.meter.borrow().uncounted_addresses();
        uncounted.saturating_sub(self.uncounted.replace(uncounted))
    }

    /// Counts a request as in flight until the returned value is dropped.
    pub fn begin(
        self: Rc<Self>,
        upstreams: &Upstreams,
        cluster: &[u8],
        hints: &impl UpstreamHints,
    ) -> Option<InFlightRequest<H>> {
        let slot = self.meter.borrow_mut().begin(upstreams, cluster, hints)?;
        Some(InFlightRequest { counter: self, slot })
    }

    /// Called once a tick: moves the window, and publishes the counts of this VM once in `interval`.
    pub fn tick(&self, interval: Duration, now: Time) {
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
pub struct InFlightRequest<H> {
    counter: Rc<RequestCounter<H>>,
    slot: MeterSlot,
}

impl<H> Drop for InFlightRequest<H> {
    fn drop(&mut self) {
        self.counter.meter.borrow_mut().end(self.slot);
    }
}
