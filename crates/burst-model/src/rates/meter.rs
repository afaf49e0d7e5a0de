//! The counters of one VM: on the response path a look-up by Envoy's cluster name and an addition.

use super::share::MOST_SERVICES;
use crate::name::ObjectName;
use crate::upstream::{Hints, Unmapped, Upstream, Upstreams};
use std::collections::{BTreeMap, HashMap};

/// Cluster names that are remembered at most, as in [`crate::view::picture`]; those of Services stay counted.
const MOST_CLUSTERS: usize = 20_000;

/// Where a Service is counted. It holds as long as the meter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(usize);

/// What was counted of a Service, ever. The numbers go round at their end; only differences mean something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) requests: u32,
    pub(super) rejected: u32,
    /// Requests under way, added up over time: request-milliseconds.
    pub(super) load: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    tally: Tally,
    in_flight: u32,
    /// Whether requests for it are seen only when they end: then nobody knows how many are under way.
    late: bool,
}

/// What a cluster's name is known to stand for.
#[derive(Clone, Copy, Debug)]
enum Known {
    At(Place),
    /// No Service, or one too many.
    Nothing,
    /// Several Services: the endpoint that answers tells which.
    ByBackend,
}

/// The counters of one VM.
#[derive(Debug, Default)]
pub struct Meter {
    clusters: HashMap<Box<[u8]>, Known>,
    places: BTreeMap<Box<str>, Place>,
    cells: Vec<Cell>,
}

impl Meter {
    /// Counts a request that begins; where it must be taken off again with [`Self::end`].
    pub fn begin(&mut self, upstreams: &Upstreams, cluster: &[u8], hints: &impl Hints) -> Option<Place> {
        let Known::At(place) = self.known(upstreams, cluster, hints) else {
            return None;
        };
        let cell = self.cells.get_mut(place.0)?;
        cell.in_flight = cell.in_flight.saturating_add(1);
        Some(place)
    }

    /// A request that was counted by [`Self::begin`] is over.
    pub fn end(&mut self, place: Place) {
        if let Some(cell) = self.cells.get_mut(place.0) {
            cell.in_flight = cell.in_flight.saturating_sub(1);
        }
    }

    /// Counts a response.
    pub fn answered(&mut self, upstreams: &Upstreams, cluster: &[u8], hints: &impl Hints, rejected: bool) {
        let place = match self.known(upstreams, cluster, hints) {
            Known::At(place) => place,
            Known::Nothing => return,
            Known::ByBackend => match self.by_backend(hints) {
                Some(place) => place,
                None => return,
            },
        };
        if let Some(Cell { tally, .. }) = self.cells.get_mut(place.0) {
            tally.requests = tally.requests.wrapping_add(1);
            tally.rejected = tally.rejected.wrapping_add(u32::from(rejected));
        }
    }

    fn known(&mut self, upstreams: &Upstreams, cluster: &[u8], hints: &impl Hints) -> Known {
        if let Some(known) = self.clusters.get(cluster) {
            return *known;
        }
        let known = match upstreams.of(cluster, hints) {
            Err(Unmapped::Route) => Known::ByBackend,
            Err(_) => Known::Nothing,
            Ok(upstreams) => {
                let mut services = upstreams.iter().filter_map(service);
                services
                    .next()
                    .and_then(|name| self.place(name))
                    .map_or(Known::Nothing, Known::At)
            }
        };
        if self.clusters.len() >= MOST_CLUSTERS {
            self.clusters.clear();
        }
        self.clusters.insert(cluster.into(), known);
        known
    }

    fn by_backend(&mut self, hints: &impl Hints) -> Option<Place> {
        let place = self.place(&hints.backend()?)?;
        self.cells.get_mut(place.0)?.late = true;
        Some(place)
    }

    fn place(&mut self, service: &ObjectName) -> Option<Place> {
        let name = service.to_string();
        if let Some(place) = self.places.get(name.as_str()) {
            return Some(*place);
        }
        let place = Place(self.cells.len());
        (place.0 < MOST_SERVICES).then_some(())?;
        self.cells.push(Cell::default());
        self.places.insert(name.into(), place);
        Some(place)
    }

    /// Lets that many milliseconds pass over the requests under way.
    pub(super) fn pass(&mut self, millis: u64) {
        for Cell { tally, in_flight, .. } in &mut self.cells {
            tally.load = tally.load.wrapping_add(u64::from(*in_flight).wrapping_mul(millis));
        }
    }

    /// What stands in all places.
    pub(super) fn tallies(&self) -> Box<[Tally]> {
        self.cells.iter().map(|cell| cell.tally).collect()
    }

    /// All Services in order: where each is counted, what was counted, and whether the requests under way are known.
    pub(super) fn services(&self) -> impl Iterator<Item = (&str, usize, Tally, bool)> {
        let at = |(name, place): (_, &Place)| Some((name, place.0, self.cells.get(place.0)?));
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

fn service(upstream: &Upstream) -> Option<&ObjectName> {
    match upstream {
        Upstream::Service(name) => Some(name),
        Upstream::Workload { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::{IstioService, Rule};
    use std::cell::Cell as StdCell;

    fn upstreams() -> Upstreams {
        let rule = |pattern: &str, service: Option<&str>| {
            Rule::new(pattern, service.map(|name| ObjectName::parse(name).unwrap())).unwrap()
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

    impl Hints for Asked {
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
