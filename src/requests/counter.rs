//! What one VM counts, whichever of its root contexts serves the request: that of a new configuration and those in
//! their drain share it, where their settings count the same.

use super::{MOST_VMS, Slots};
use crate::root::unique_id;
use burst_model::records::RequestCountKeys;
use burst_model::request_rates::{Meter, MeterSlot, SlidingWindow, is_rejected};
use burst_model::sync::election::VmId;
use burst_model::time::Time;
use burst_model::upstream::{UpstreamHints, Upstreams};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// The counters of a VM.
#[derive(Debug)]
pub(crate) struct RequestCounter {
    meter: RefCell<Meter>,
    window: RefCell<SlidingWindow>,
    slots: Slots,
    /// Made in the first tick: a canary must leave no traces.
    id: Cell<Option<VmId>>,
    told: Cell<Option<Time>>,
}

impl RequestCounter {
    pub(crate) fn new(keys: RequestCountKeys, window: Duration, now: Time) -> Self {
        Self {
            meter: RefCell::default(),
            window: RefCell::new(SlidingWindow::new(window, now)),
            slots: Slots::new(keys.vms, MOST_VMS),
            id: Cell::new(None),
            told: Cell::new(None),
        }
    }

    /// Counts a response.
    pub(crate) fn answered(&self, upstreams: &Upstreams, cluster: &[u8], hints: &impl UpstreamHints, status: &[u8]) {
        let mut meter = self.meter.borrow_mut();
        meter.count_response(upstreams, cluster, hints, is_rejected(status));
    }

    /// Counts a request as under way, for as long as what this gives lives.
    pub(crate) fn begin(
        self: Rc<Self>,
        upstreams: &Upstreams,
        cluster: &[u8],
        hints: &impl UpstreamHints,
    ) -> Option<InFlightRequest> {
        let place = self.meter.borrow_mut().begin(upstreams, cluster, hints)?;
        Some(InFlightRequest { counter: self, place })
    }

    /// Lets time pass, and tells the proxy from time to time what was counted.
    pub(crate) fn tick(&self, interval: Duration, now: Time) {
        let mut meter = self.meter.borrow_mut();
        let mut window = self.window.borrow_mut();
        window.tick(&mut meter, now);
        if !is_due(self.told.get(), interval, now) {
            return;
        }
        let Some(VmId(id)) = self.id.get().or_else(unique_id) else {
            return;
        };
        self.id.set(Some(VmId(id)));
        if let Some(share) = window.tally(&meter, u64::from(id), now)
            && self.slots.put(share.id, &share.to_text()).is_ok()
        {
            self.told.set(Some(now));
        }
    }
}

/// Whether it is time again; also where the last time lies ahead, because the clock was set back.
pub(super) fn is_due(last: Option<Time>, interval: Duration, now: Time) -> bool {
    last.is_none_or(|last| now >= last.after(interval) || now < last)
}

/// A request that is under way.
#[derive(Debug)]
pub(crate) struct InFlightRequest {
    counter: Rc<RequestCounter>,
    place: MeterSlot,
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        self.counter.meter.borrow_mut().end(self.place);
    }
}
