//! The counters of one VM: on the response path a look-up by Envoy's cluster name and an addition.

use super::tally::MOST_SERVICES;
use crate::name::ObjectName;
use crate::upstream::{Unmapped, UpstreamHints, UpstreamTarget, Upstreams};
use std::collections::{BTreeMap, HashMap};

/// Cluster names that are remembered at most, as in [`crate::serve::cache`]; those of Services stay counted.
const MOST_CLUSTERS: usize = 20_000;

/// Where a Service is counted. It holds as long as the meter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeterSlot(usize);

/// What was counted of a Service, ever. The numbers go round at their end; only differences mean something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ServiceCounters {
    pub(super) requests: u32,
    pub(super) rejected: u32,
    /// Requests under way, added up over time: request-milliseconds.
    pub(super) load: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct MeterCell {
    tally: ServiceCounters,
    in_flight: u32,
    /// Whether requests for it are seen only when they end: then nobody knows how many are under way.
    late: bool,
}

/// What a cluster's name is known to stand for.
#[derive(Clone, Copy, Debug)]
enum CachedMapping {
    At(MeterSlot),
    /// No Service, or one too many.
    Nothing,
    /// Several Services: the endpoint that answers tells which.
    ByBackend,
}

/// The counters of one VM.
#[derive(Debug, Default)]
pub struct Meter {
    clusters: HashMap<Box<[u8]>, CachedMapping>,
    places: BTreeMap<Box<str>, MeterSlot>,
    cells: Vec<MeterCell>,
}

impl Meter {
    /// Counts a request that begins; where it must be taken off again with [`Self::end`].
    pub fn begin(&mut self, upstreams: &Upstreams, cluster: &[u8], hints: &impl UpstreamHints) -> Option<MeterSlot> {
        let CachedMapping::At(place) = self.known(upstreams, cluster, hints) else {
            return None;
        };
        let cell = self.cells.get_mut(place.0)?;
        cell.in_flight = cell.in_flight.saturating_add(1);
        Some(place)
    }

    /// A request that was counted by [`Self::begin`] is over.
    pub fn end(&mut self, place: MeterSlot) {
        if let Some(cell) = self.cells.get_mut(place.0) {
            cell.in_flight = cell.in_flight.saturating_sub(1);
        }
    }

    /// Counts a response.
    pub fn answered(&mut self, upstreams: &Upstreams, cluster: &[u8], hints: &impl UpstreamHints, rejected: bool) {
        let place = match self.known(upstreams, cluster, hints) {
            CachedMapping::At(place) => place,
            CachedMapping::Nothing => return,
            CachedMapping::ByBackend => match self.by_backend(hints) {
                Some(place) => place,
                None => return,
            },
        };
        if let Some(MeterCell { tally, .. }) = self.cells.get_mut(place.0) {
            tally.requests = tally.requests.wrapping_add(1);
            tally.rejected = tally.rejected.wrapping_add(u32::from(rejected));
        }
    }

    fn known(&mut self, upstreams: &Upstreams, cluster: &[u8], hints: &impl UpstreamHints) -> CachedMapping {
        if let Some(known) = self.clusters.get(cluster) {
            return *known;
        }
        let known = match upstreams.of(cluster, hints) {
            Err(Unmapped::Route) => CachedMapping::ByBackend,
            Err(_) => CachedMapping::Nothing,
            Ok(upstreams) => {
                let mut services = upstreams.iter().filter_map(service);
                services
                    .next()
                    .and_then(|name| self.place(name))
                    .map_or(CachedMapping::Nothing, CachedMapping::At)
            }
        };
        if self.clusters.len() >= MOST_CLUSTERS {
            self.clusters.clear();
        }
        self.clusters.insert(cluster.into(), known);
        known
    }

    fn by_backend(&mut self, hints: &impl UpstreamHints) -> Option<MeterSlot> {
        let place = self.place(&hints.backend()?)?;
        self.cells.get_mut(place.0)?.late = true;
        Some(place)
    }

    fn place(&mut self, service: &ObjectName) -> Option<MeterSlot> {
        let name = service.to_string();
        if let Some(place) = self.places.get(name.as_str()) {
            return Some(*place);
        }
        let place = MeterSlot(self.cells.len());
        (place.0 < MOST_SERVICES).then_some(())?;
        self.cells.push(MeterCell::default());
        self.places.insert(name.into(), place);
        Some(place)
    }

    /// Lets that many milliseconds pass over the requests under way.
    pub(super) fn pass(&mut self, millis: u64) {
        for MeterCell { tally, in_flight, .. } in &mut self.cells {
            tally.load = tally.load.wrapping_add(u64::from(*in_flight).wrapping_mul(millis));
        }
    }

    /// What stands in all places.
    pub(super) fn counters(&self) -> Box<[ServiceCounters]> {
        self.cells.iter().map(|cell| cell.tally).collect()
    }

    /// All Services in order: where each is counted, what was counted, and whether the requests under way are known.
    pub(super) fn services(&self) -> impl Iterator<Item = (&str, usize, ServiceCounters, bool)> {
        let at = |(name, place): (_, &MeterSlot)| Some((name, place.0, self.cells.get(place.0)?));
        let places = self.places.iter().map(|(name, place)| (&**name, place));
        places
            .filter_map(at)
            .map(|(name, place, cell)| (name, place, cell.tally, !cell.late))
    }
}

#[cfg(test)]
impl Meter {
    /// As if that many requests had been counted for each Service.
    pub(super) fn count_from(&mut self, requests: u32) {
        for cell in &mut self.cells {
            cell.tally.requests = requests;
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
    struct Asked {
        times: StdCell<u32>,
        backend: Option<ObjectName>,
    }

    impl UpstreamHints for Asked {
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
            meter.answered(&upstreams, cluster, &(), rejected);
        }
        assert_eq!(counted(&meter), [("shop/api", 1, 1), ("shop/web", 3, 1)]);
    }

    #[test]
    fn what_stands_for_no_service_is_not_counted_and_asked_about_once() {
        let (mut meter, upstreams, hints) = (Meter::default(), upstreams(), Asked::default());
        for _ in 0..3 {
            meter.answered(&upstreams, b"somewhere", &hints, false);
            meter.answered(&upstreams, b"PassthroughCluster", &hints, false);
            assert_eq!(meter.begin(&upstreams, b"somewhere", &hints), None);
        }
        assert_eq!(hints.times.get(), 1, "and of passthrough nothing is asked");
        assert_eq!(counted(&meter), []);
    }

    #[test]
    fn the_endpoint_that_answers_tells_where_the_cluster_does_not() {
        let (mut meter, upstreams) = (Meter::default(), upstreams());
        let route = b"httproute/shop/web/rule/0";
        assert_eq!(meter.begin(&upstreams, route, &()), None, "nobody knows yet");
        let backend = ObjectName::parse("shop/web").ok();
        let hints = Asked {
            backend,
            ..Asked::default()
        };
        meter.answered(&upstreams, route, &hints, false);
        meter.answered(&upstreams, route, &(), true);
        assert_eq!(
            counted(&meter),
            [("shop/web", 1, 0)],
            "and where no endpoint answered, nobody does"
        );
        assert!(meter.services().all(|(.., knows_load)| !knows_load));
    }

    #[test]
    fn services_beyond_the_limit_are_not_counted_and_those_before_go_on() {
        let (mut meter, upstreams) = (Meter::default(), upstreams());
        for n in 0..MOST_SERVICES + 10 {
            meter.answered(&upstreams, format!("s{n}.shop").as_bytes(), &(), false);
        }
        meter.answered(&upstreams, b"s0.shop", &(), false);
        assert_eq!(meter.services().count(), MOST_SERVICES);
        assert_eq!(counted(&meter).first(), Some(&("shop/s0", 2, 0)));
    }
}
