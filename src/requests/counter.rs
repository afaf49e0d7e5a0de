//! The request counters of this VM. All root contexts with the same counting settings share one: the root context of a new
//! configuration and those that are draining.

use crate::host;
use crate::shared_data::EnvoySharedData;
use burst_model::config::Config;
use burst_model::records::RequestCountKeys;
use burst_shared_data::request_counts;
use std::cell::RefCell;
use std::rc::{Rc, Weak};

pub(crate) type RequestCounter = request_counts::RequestCounter<EnvoySharedData>;

thread_local! {
    /// By the hash of their settings, for as long as a root context counts.
    static COUNTERS: RefCell<Vec<(u64, Weak<RequestCounter>)>> = const { RefCell::new(Vec::new()) };
}

/// The counter of this VM for a configuration. `None` if it counts no requests.
pub(crate) fn counter(config: &Config) -> Option<Rc<RequestCounter>> {
    let requests = config.requests.as_deref()?;
    let settings = config.metrics_hash();
    COUNTERS.with_borrow_mut(|counters| {
        counters.retain(|(_, counter)| counter.strong_count() > 0);
        let known = counters.iter().find(|(known, _)| *known == settings);
        let counter = known.and_then(|(_, counter)| counter.upgrade()).unwrap_or_else(|| {
            let keys = RequestCountKeys::new(settings);
            let counter = Rc::new(RequestCounter::new(keys, requests, host::now()));
            counters.push((settings, Rc::downgrade(&counter)));
            counter
        });
        Some(counter)
    })
}
