//! The request counters of one VM by the address of the endpoint that answered. Counting is a look-up by the text of the
//! address, as Envoy gives it, and an addition.

use super::count::ServiceCounters;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};

/// The most addresses that are counted at a time: those of a large cluster's pods behind one gateway.
pub const MAX_ADDRESSES: usize = 20_000;

/// The most texts that are cached. A pod with several ports has several.
const MAX_TEXTS: usize = 2 * MAX_ADDRESSES;

/// Envoy's text of an endpoint behind the listener `connect_originate`, up to the address.
const HBONE: &str = "envoy://connect_originate/";

/// The counters of one VM, by address.
#[derive(Debug, Default)]
pub struct AddressMeter {
    /// By the text of the endpoint, with its port. `None` for a text that is not an address, such as that of a pipe.
    texts: HashMap<Box<[u8]>, Option<usize>>,
    slots: BTreeMap<IpAddr, usize>,
    counters: Vec<ServiceCounters>,
    /// Slots that no address has.
    free: Vec<usize>,
    /// Responses that were not counted: all slots were taken, or the endpoint has no address.
    uncounted: u64,
}

impl AddressMeter {
    /// Counts a response of the endpoint with that text: `10.0.0.1:8080`, `[fd00::1]:8080`.
    pub fn count(&mut self, endpoint: &[u8], rejected: bool) {
        let Some(slot) = self.slot(endpoint) else {
            self.uncounted = self.uncounted.saturating_add(1);
            return;
        };
        if let Some(counters) = self.counters.get_mut(slot) {
            counters.requests = counters.requests.wrapping_add(1);
            counters.rejected = counters.rejected.wrapping_add(u32::from(rejected));
        }
    }

    fn slot(&mut self, endpoint: &[u8]) -> Option<usize> {
        if let Some(known) = self.texts.get(endpoint) {
            return *known;
        }
        let slot = match address(endpoint) {
            None => None,
            Some(address) => Some(self.slot_of(address)?),
        };
        if self.texts.len() >= MAX_TEXTS {
            self.texts.clear();
        }
        self.texts.insert(endpoint.into(), slot);
        slot
    }

    /// Returns the slot of an address. `None` if all are taken, which is not cached: one may be free soon.
    fn slot_of(&mut self, address: IpAddr) -> Option<usize> {
        if let Some(slot) = self.slots.get(&address) {
            return Some(*slot);
        }
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.counters.len() < MAX_ADDRESSES => {
                self.counters.push(ServiceCounters::default());
                self.counters.len().saturating_sub(1)
            }
            None => return None,
        };
        self.slots.insert(address, slot);
        Some(slot)
    }

    /// Frees the slots of addresses that had no request since the counters were `begin`, at the start of the window.
    ///
    /// The counters of a slot go on when another address gets it. So its difference to `begin` has only requests of the
    /// address that has it now.
    pub(super) fn release_idle(&mut self, begin: &[ServiceCounters]) {
        let (counters, free) = (&self.counters, &mut self.free);
        let taken = self.slots.len();
        self.slots.retain(|_, slot| {
            let is_idle = counters.get(*slot) == begin.get(*slot);
            if is_idle {
                free.push(*slot);
            }
            !is_idle
        });
        if self.slots.len() < taken {
            self.texts.clear();
        }
    }

    /// The counters of all slots.
    pub(super) fn counters(&self) -> &[ServiceCounters] {
        &self.counters
    }

    /// All addresses, sorted: the slot of each, and its counters.
    pub(super) fn addresses(&self) -> impl Iterator<Item = (IpAddr, usize, ServiceCounters)> {
        let slots = self.slots.iter();
        slots.filter_map(|(address, slot)| Some((*address, *slot, *self.counters.get(*slot)?)))
    }

    /// How many responses were not counted: there were too many addresses, or the endpoint has none. While there are some,
    /// the requests of no address are known.
    #[must_use]
    pub fn uncounted(&self) -> u64 {
        self.uncounted
    }
}

/// The address of an endpoint, without its port. An endpoint behind Istio's HBONE tunnel is named by the internal listener
/// that opens the tunnel, and its own address.
fn address(endpoint: &[u8]) -> Option<IpAddr> {
    let endpoint = std::str::from_utf8(endpoint).ok()?;
    let endpoint: SocketAddr = endpoint.strip_prefix(HBONE).unwrap_or(endpoint).parse().ok()?;
    Some(endpoint.ip().to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests and rejected requests of each address.
    fn counted(meter: &AddressMeter) -> Vec<(String, u32, u32)> {
        let all = meter.addresses();
        all.map(|(address, _, counters)| (address.to_string(), counters.requests, counters.rejected))
            .collect()
    }

    fn one(address: &str, requests: u32, rejected: u32) -> (String, u32, u32) {
        (address.to_owned(), requests, rejected)
    }

    #[test]
    fn all_ports_and_spellings_of_an_address_are_counted_together() {
        let mut meter = AddressMeter::default();
        for (endpoint, rejected) in [
            ("10.0.0.1:80", false),
            ("10.0.0.1:8080", true),
            ("[::ffff:10.0.0.1]:80", false),
            ("[fd00:0::1]:80", false),
            ("[fd00::1]:81", false),
            ("envoy://connect_originate/10.0.0.2:80", false),
        ] {
            meter.count(endpoint.as_bytes(), rejected);
        }
        assert_eq!(
            counted(&meter),
            [one("10.0.0.1", 3, 1), one("10.0.0.2", 1, 0), one("fd00::1", 2, 0)]
        );
    }

    #[test]
    fn what_is_not_an_address_counts_as_uncounted() {
        let mut meter = AddressMeter::default();
        for endpoint in [
            "",
            "/var/run/pipe",
            "envoy://internal/10.0.0.1:80",
            "10.0.0.1",
            "web:80",
            "10.0.0.1:99999",
        ] {
            meter.count(endpoint.as_bytes(), false);
        }
        meter.count(b"\xff:80", false);
        meter.count(b"\xff:80", false);
        assert_eq!((counted(&meter), meter.uncounted()), (vec![], 8));
    }

    #[test]
    fn addresses_beyond_the_limit_are_not_counted_until_others_had_no_request_for_a_window() {
        let mut meter = AddressMeter::default();
        let text = |n: usize| format!("10.{}.{}.{}:80", n >> 16, (n >> 8) & 255, n & 255);
        for n in 0..100_000 {
            meter.count(text(n).as_bytes(), false);
        }
        assert_eq!(
            (meter.addresses().count(), meter.uncounted()),
            (MAX_ADDRESSES, 100_000 - MAX_ADDRESSES as u64)
        );
        let begin = meter.counters().to_vec();
        meter.count(text(7).as_bytes(), false);
        meter.release_idle(&begin);
        assert_eq!(counted(&meter), [one("10.0.0.7", 2, 0)]);
        for _ in 0..3 {
            meter.count(text(99_999).as_bytes(), true);
        }
        let window: Vec<_> = meter
            .addresses()
            .map(|(address, slot, counters)| (address.to_string(), counters.requests - begin[slot].requests))
            .collect();
        assert_eq!(window, [("10.0.0.7".to_owned(), 1), ("10.1.134.159".to_owned(), 3)]);
    }
}
