//! The request counters of one VM. Counting a response is a look-up by Envoy's cluster name and an addition.

use super::address_meter::AddressMeter;
use super::count::ServiceCounters;
use super::tally::MAX_SERVICES;
use crate::name::ObjectName;
use crate::upstream::{Unmapped, UpstreamHints, UpstreamTarget, Upstreams};
use std::collections::{BTreeMap, HashMap};

/// The most cluster names that are cached, as in [`crate::serve::cache`]. Clearing the cache keeps the counters.
const MAX_CLUSTERS: usize = 20_000;

/// The counters of a Service. It stays valid as long as the meter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeterSlot(usize);

#[derive(Clone, Copy, Debug, Default)]
struct MeterCell {
    counters: ServiceCounters,
    in_flight: u32,
    /// Whether requests are counted only when they end. Then the number in flight is unknown.
    is_counted_at_end: bool,
}

/// The cached mapping of a cluster name.
#[derive(Clone, Copy, Debug)]
enum CachedMapping {
    Slot(MeterSlot),
    /// No Service, or one beyond the limit.
    Nothing,
    /// Several Services. The endpoint that responds determines which.
    ByBackend,
}

/// The counters of one VM.
#[derive(Debug, Default)]
pub struct Meter {
    clusters: HashMap<Box<[u8]>, CachedMapping>,
    slots: BTreeMap<Box<str>, MeterSlot>,
    cells: Vec<MeterCell>,
    /// If requests are counted by address too.
    pub(super) addresses: Option<AddressMeter>,
}

impl Meter {
    /// A meter that also counts by the address of the endpoint that answers.
    #[must_use]
    pub fn with_addresses() -> Self {
        Self {
            addresses: Some(AddressMeter::default()),
            ..Self::default()
        }
    }

    /// Counts a request that begins. Pass the returned slot to [`Self::end`] when the request ends.
    pub fn begin(&mut self, upstreams: &Upstreams, cluster: &[u8], hints: &impl UpstreamHints) -> Option<MeterSlot> {
        let CachedMapping::Slot(slot) = self.mapping(upstreams, cluster, hints) else {
            return None;
        };
        let cell = self.cells.get_mut(slot.0)?;
        cell.in_flight = cell.in_flight.saturating_add(1);
        Some(slot)
    }

    /// Ends a request that [`Self::begin`] counted.
    pub fn end(&mut self, slot: MeterSlot) {
        if let Some(cell) = self.cells.get_mut(slot.0) {
            cell.in_flight = cell.in_flight.saturating_sub(1);
        }
    }

    /// Counts a response of a Service by the address of its endpoint. `endpoint` returns the text of that, or `None` if no
    /// endpoint was tried. It is called only if addresses are counted.
    pub fn count_address(&mut self, endpoint: impl FnOnce() -> Option<Vec<u8>>, rejected: bool) {
        if let Some(addresses) = &mut self.addresses
            && let Some(endpoint) = endpoint()
        {
            addresses.count(&endpoint, rejected);
        }
    }

    /// How many responses could not be counted by address.
    #[must_use]
    pub fn uncounted_addresses(&self) -> u64 {
        self.addresses.as_ref().map_or(0, AddressMeter::uncounted)
    }

    /// Counts a response. Returns whether it is one of a Service.
    pub fn count_response(
        &mut self,
        upstreams: &Upstreams,
        cluster: &[u8],
        hints: &impl UpstreamHints,
        rejected: bool,
    ) -> bool {
        let slot = match self.mapping(upstreams, cluster, hints) {
            CachedMapping::Slot(slot) => slot,
            CachedMapping::Nothing => return false,
            CachedMapping::ByBackend => match self.slot_of_backend(hints) {
                Some(slot) => slot,
                None => return false,
            },
        };
        if let Some(MeterCell { counters: tally, .. }) = self.cells.get_mut(slot.0) {
            tally.requests = tally.requests.wrapping_add(1);
            tally.rejected = tally.rejected.wrapping_add(u32::from(rejected));
        }
        true
    }

    fn mapping(&mut self, upstreams: &Upstreams, cluster: &[u8], hints: &impl UpstreamHints) -> CachedMapping {
        if let Some(known) = self.clusters.get(cluster) {
            return *known;
        }
        let known = match upstreams.resolve(cluster, hints) {
            Err(Unmapped::Route) => CachedMapping::ByBackend,
            Err(_) => CachedMapping::Nothing,
            Ok(upstreams) => {
                let mut services = upstreams.iter().filter_map(service);
                services
                    .next()
                    .and_then(|name| self.slot(name))
                    .map_or(CachedMapping::Nothing, CachedMapping::Slot)
            }
        };
        if self.clusters.len() >= MAX_CLUSTERS {
            self.clusters.clear();
        }
        self.clusters.insert(cluster.into(), known);
        known
    }

    fn slot_of_backend(&mut self, hints: &impl UpstreamHints) -> Option<MeterSlot> {
        let slot = self.slot(&hints.backend()?)?;
        self.cells.get_mut(slot.0)?.is_counted_at_end = true;
        Some(slot)
    }

    fn slot(&mut self, service: &ObjectName) -> Option<MeterSlot> {
        let name = service.to_string();
        if let Some(slot) = self.slots.get(name.as_str()) {
            return Some(*slot);
        }
        let slot = MeterSlot(self.cells.len());
        (slot.0 < MAX_SERVICES).then_some(())?;
        self.cells.push(MeterCell::default());
        self.slots.insert(name.into(), slot);
        Some(slot)
    }

    /// Adds that many milliseconds for each request in flight.
    pub(super) fn advance(&mut self, millis: u64) {
        for MeterCell {
            counters: tally,
            in_flight,
            ..
        } in &mut self.cells
        {
            tally.load = tally.load.wrapping_add(u64::from(*in_flight).wrapping_mul(millis));
        }
    }

    /// The counters of all slots.
    pub(super) fn counters(&self) -> Box<[ServiceCounters]> {
        self.cells.iter().map(|cell| cell.counters).collect()
    }

    /// All Services by name: the slot of each, its counters, and whether its requests in flight are known.
    pub(super) fn services(&self) -> impl Iterator<Item = (&str, usize, ServiceCounters, bool)> {
        let at = |(name, slot): (_, &MeterSlot)| Some((name, slot.0, self.cells.get(slot.0)?));
        let slots = self.slots.iter().map(|(name, slot)| (&**name, slot));
        slots
            .filter_map(at)
            .map(|(name, slot, cell)| (name, slot, cell.counters, !cell.is_counted_at_end))
    }
}

#[cfg(test)]
impl Meter {
    /// Sets the request counter of each Service.
    pub(super) fn set_requests(&mut self, requests: u32) {
        for cell in &mut self.cells {
            cell.counters.requests = requests;
        }
    }
}

fn service(upstream: &UpstreamTarget) -> Option<&ObjectName> {
    match upstream {
        UpstreamTarget::Service(name) => Some(name),
        UpstreamTarget::Workload { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::{IstioService, MappingRule};
    use std::cell::Cell as StdCell;

    fn upstreams() -> Upstreams {
        let rule = |pattern: &str, service: Option<&str>| {
            MappingRule::new(pattern, service.map(|name| ObjectName::parse(name).unwrap())).unwrap()
        };
        let rules = vec![
            rule("{service}.{namespace}", None),
            rule("web-canary", Some("shop/web")),
        ];
        Upstreams::new(rules, "cluster.local")
    }

    /// Counts how often it is asked.
    #[derive(Default)]
    struct CountingHints {
        times: StdCell<u32>,
        backend: Option<ObjectName>,
    }

    impl UpstreamHints for CountingHints {
        fn service(&self, _: usize) -> Option<IstioService> {
            self.times.set(self.times.get() + 1);
            None
        }
        fn owner(&self) -> Option<String> {
            None
        }
        fn backend(&self) -> Option<ObjectName> {
            self.backend.clone()
        }
    }

    fn counted(meter: &Meter) -> Vec<(&str, u32, u32)> {
        let services = meter.services();
        services
            .map(|(name, _, tally, _)| (name, tally.requests, tally.rejected))
            .collect()
    }

    #[test]
    fn all_clusters_of_a_service_are_counted_together() {
        let (mut meter, upstreams) = (Meter::default(), upstreams());
        let istio = b"outbound|80|v2|web.shop.svc.cluster.local";
        for (cluster, rejected) in [
            (&b"web.shop"[..], false),
            (istio, true),
            (b"web-canary", false),
            (b"api.shop", true),
        ] {
            meter.count_response(&upstreams, cluster, &(), rejected);
        }
        assert_eq!(counted(&meter), [("shop/api", 1, 1), ("shop/web", 3, 1)]);
    }

    #[test]
    fn a_cluster_without_a_service_is_not_counted_and_is_resolved_once() {
        let (mut meter, upstreams, hints) = (Meter::default(), upstreams(), CountingHints::default());
        for _ in 0..3 {
            meter.count_response(&upstreams, b"somewhere", &hints, false);
            meter.count_response(&upstreams, b"PassthroughCluster", &hints, false);
            assert_eq!(meter.begin(&upstreams, b"somewhere", &hints), None);
        }
        assert_eq!(hints.times.get(), 1, "and of passthrough nothing is asked");
        assert_eq!(counted(&meter), []);
    }

    #[test]
    fn the_endpoint_determines_the_service_if_the_cluster_does_not() {
        let (mut meter, upstreams) = (Meter::default(), upstreams());
        let route = b"httproute/shop/web/rule/0";
        assert_eq!(
            meter.begin(&upstreams, route, &()),
            None,
            "the Service is not known yet"
        );
        let backend = ObjectName::parse("shop/web").ok();
        let hints = CountingHints {
            backend,
            ..CountingHints::default()
        };
        meter.count_response(&upstreams, route, &hints, false);
        meter.count_response(&upstreams, route, &(), true);
        assert_eq!(
            counted(&meter),
            [("shop/web", 1, 0)],
            "a response without an endpoint is not counted"
        );
        assert!(meter.services().all(|(.., knows_load)| !knows_load));
    }

    #[test]
    fn services_beyond_the_limit_are_not_counted_and_others_still_are() {
        let (mut meter, upstreams) = (Meter::default(), upstreams());
        for n in 0..MAX_SERVICES + 10 {
            meter.count_response(&upstreams, format!("s{n}.shop").as_bytes(), &(), false);
        }
        meter.count_response(&upstreams, b"s0.shop", &(), false);
        assert_eq!(meter.services().count(), MAX_SERVICES);
        assert_eq!(counted(&meter).first(), Some(&("shop/s0", 2, 0)));
    }
}
