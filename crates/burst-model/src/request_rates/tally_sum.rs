//! Adds up tallies one by one, so that only one of them is in memory beside the sum. The sum has the limits of a tally,
//! whatever names the tallies contain.

use super::address_meter::MAX_ADDRESSES;
use super::count::RequestCounts;
use super::tally::{MAX_SERVICES, Tally};
use super::text::{MAX_REPORT_BYTES, address_length, length};
use crate::time::Time;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// The sum of tallies. Its span is the longest of theirs, because a younger observer saw no requests before it started.
/// Its period ends when the earliest of theirs does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TallySum {
    services: BTreeMap<Box<str>, RequestCounts>,
    /// The length of the Services as text, which is limited like a report.
    length: usize,
    taken_at: Option<Time>,
    span: Duration,
    tallies: usize,
    excluded: usize,
    addresses: AddressSum,
}

/// The sum by address. It is complete or unknown: a part of it would be too small for some address.
#[derive(Clone, Debug, PartialEq, Eq)]
enum AddressSum {
    Known(BTreeMap<IpAddr, RequestCounts>),
    /// A tally has no addresses, or there are too many.
    Unknown,
}

impl Default for AddressSum {
    fn default() -> Self {
        Self::Known(BTreeMap::new())
    }
}

impl AddressSum {
    fn add(&mut self, addresses: Option<&[(IpAddr, RequestCounts)]>) {
        let (Self::Known(sum), Some(addresses)) = (&mut *self, addresses) else {
            *self = Self::Unknown;
            return;
        };
        for (address, count) in addresses {
            let sum = sum.entry(*address).or_default();
            sum.requests = sum.requests.saturating_add(count.requests);
            sum.rejected = sum.rejected.saturating_add(count.rejected);
        }
        if sum.len() > MAX_ADDRESSES {
            *self = Self::Unknown;
        }
    }

    /// The addresses, if they fit into a report that has this many bytes without them.
    fn addresses(&self, length: usize) -> Option<Vec<(IpAddr, RequestCounts)>> {
        let Self::Known(sum) = self else { return None };
        let lengths = sum.iter().map(|(address, count)| address_length(address, count));
        let length = lengths.fold(length, usize::saturating_add);
        (length <= MAX_REPORT_BYTES).then(|| sum.iter().map(|(address, count)| (*address, *count)).collect())
    }
}

impl TallySum {
    /// Adds a tally. At the limits, Services that are not in the sum yet are excluded from it, also from later tallies: a
    /// Service is counted in full or not at all. Add the tallies first that matter most.
    pub fn add(&mut self, tally: &Tally<'_>) {
        self.taken_at = Some(self.taken_at.map_or(tally.taken_at, |taken| taken.min(tally.taken_at)));
        self.span = self.span.max(tally.span);
        self.tallies = self.tallies.saturating_add(1);
        self.addresses.add(tally.addresses.as_deref());
        for (name, count) in &tally.services {
            if let Some(sum) = self.services.get_mut(*name) {
                *sum = sum.combine(*count);
                continue;
            }
            let length = self.length.saturating_add(length(name, count));
            if self.services.len() >= MAX_SERVICES || length > MAX_REPORT_BYTES {
                self.excluded = self.excluded.saturating_add(1);
                continue;
            }
            self.length = length;
            self.services.insert((*name).into(), *count);
        }
    }

    /// How many tallies were added.
    #[must_use]
    pub fn tallies(&self) -> usize {
        self.tallies
    }

    /// How often a Service of a tally was excluded.
    #[must_use]
    pub fn excluded(&self) -> usize {
        self.excluded
    }

    /// The sum as the tally of `id`. `None` if no tally was added.
    #[must_use]
    pub fn tally(&self, id: u64) -> Option<Tally<'_>> {
        let services = self.services.iter();
        Some(Tally {
            id,
            taken_at: self.taken_at?,
            span: self.span,
            services: services.map(|(name, count)| (&**name, *count)).collect(),
            addresses: self.addresses.addresses(self.length),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::arbitrary::tallies;
    use super::*;
    use proptest::prelude::*;

    fn at(seconds: u64) -> Time {
        Time::from_unix_millis(seconds * 1000)
    }

    fn seen<'a>(taken: u64, services: &[(&'a str, [u64; 3])]) -> Tally<'a> {
        let count = |[requests, rejected, in_flight]: [u64; 3]| RequestCounts {
            requests,
            rejected,
            in_flight_milli: Some(in_flight),
        };
        Tally {
            id: 1,
            taken_at: at(taken),
            span: Duration::from_secs(30),
            services: services.iter().map(|(name, counts)| (*name, count(*counts))).collect(),
            addresses: None,
        }
    }

    fn total<'a>(tallies: impl IntoIterator<Item = Tally<'a>>) -> TallySum {
        let mut total = TallySum::default();
        tallies.into_iter().for_each(|tally| total.add(&tally));
        total
    }

    #[test]
    fn a_sum_is_as_old_as_the_oldest_tally() {
        let one = seen(100, &[("shop/web", [60, 3, 500])]);
        let two = seen(103, &[("shop/api", [5, 5, 0]), ("shop/web", [30, 0, 250])]);
        let both = total([one, two]);
        let whole = seen(100, &[("shop/api", [5, 5, 0]), ("shop/web", [90, 3, 750])]);
        assert_eq!(both.tally(9), Some(Tally { id: 9, ..whole }));
        assert_eq!((both.tallies(), both.excluded()), (2, 0));
        assert_eq!(TallySum::default().tally(9), None);
    }

    /// A tally of so many requests to each of these addresses.
    fn by_address(addresses: Vec<IpAddr>, requests: u64) -> Tally<'static> {
        let count = RequestCounts {
            requests,
            ..RequestCounts::default()
        };
        Tally {
            addresses: Some(addresses.into_iter().map(|address| (address, count)).collect()),
            ..seen(100, &[])
        }
    }

    #[test]
    fn addresses_are_added_up_only_if_every_tally_has_them() {
        let address = |last| IpAddr::from([10, 0, 0, last]);
        let [one, two] = [
            by_address(vec![address(1), address(2)], 3),
            by_address(vec![address(2)], 4),
        ];
        let sum = |tallies: &[&Tally<'static>]| {
            let addresses = total(tallies.iter().map(|tally| (*tally).clone()))
                .tally(9)?
                .addresses?;
            Some(
                addresses
                    .iter()
                    .map(|(address, count)| (*address, count.requests))
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(sum(&[&one, &two]), Some(vec![(address(1), 3), (address(2), 7)]));
        let without = seen(100, &[]);
        assert_eq!((sum(&[&one, &without]), sum(&[&without, &one, &two])), (None, None));
    }

    #[test]
    fn the_sum_of_too_many_addresses_is_unknown() {
        let many = |count: usize| {
            (0..count)
                .map(|n| IpAddr::from(u32::try_from(n).unwrap().to_be_bytes()))
                .collect()
        };
        let known = |count: usize| {
            total([by_address(many(count), 1)])
                .tally(9)
                .unwrap()
                .addresses
                .is_some()
        };
        assert_eq!((known(MAX_ADDRESSES), known(MAX_ADDRESSES + 1)), (true, false));
    }

    #[test]
    fn counts_become_rates_over_the_longest_span() {
        let mut young = seen(100, &[("shop/web", [30, 30, 1500])]);
        young.span = Duration::from_secs(3);
        let both = total([seen(100, &[("shop/web", [60, 0, 500])]), young.clone()]);
        let rates = both.tally(9).unwrap().rates().unwrap();
        let web = rates.services["shop/web"];
        assert_eq!(
            (web.requests_milli, web.rejected_milli, web.in_flight_milli),
            (3_000, 1_000, Some(2_000))
        );
        assert_eq!((rates.window, rates.as_of), (Duration::from_secs(30), at(100)));
        young.span = Duration::ZERO;
        assert_eq!(young.rates(), None);
    }

    #[test]
    fn requests_in_flight_are_unknown_if_one_observer_does_not_count_them() {
        let mut blind = seen(100, &[("shop/web", [1, 0, 0])]);
        blind.services[0].1.in_flight_milli = None;
        let both = total([seen(100, &[("shop/web", [1, 0, 7])]), blind]);
        assert_eq!(both.tally(9).unwrap().services[0].1.in_flight_milli, None);
    }

    /// A tally of this many services with names of this length. Different numbers give different names.
    fn names(number: usize, count: usize, length: usize) -> Vec<String> {
        let half = "x".repeat(length / 2 - 9);
        (0..count).map(|n| format!("{number:03}-{n:05}{half}/{half}")).collect()
    }

    fn of(names: &[String], count: u64) -> Tally<'_> {
        let counts: Vec<_> = names
            .iter()
            .map(|name| (name.as_str(), [count, count, count]))
            .collect();
        seen(100, &counts)
    }

    #[test]
    fn a_sum_at_its_limit_can_be_parsed_and_counts_the_first_services_in_full() {
        for length in [20, 100, 500] {
            let per_tally = (MAX_REPORT_BYTES / (length + 80)).min(MAX_SERVICES);
            let reports: Vec<_> = (0..10).map(|number| names(number, per_tally, length)).collect();
            let web = seen(100, &[("shop/web", [7, 0, 0])]);
            let mut total = total([web.clone()]);
            // The numbers grow once there is no room for names any more.
            for count in [1, u64::MAX] {
                reports.iter().for_each(|names| total.add(&of(names, count)));
            }
            total.add(&web);
            let tally = total.tally(9).unwrap();
            assert!(total.excluded() >= 2 * 8 * per_tally, "{}", total.excluded());
            let text = tally.to_text();
            assert!(
                Tally::parse(text.as_bytes()).as_ref() == Ok(&tally),
                "{} bytes",
                text.len()
            );
            let found = tally.services.iter().find(|(name, _)| *name == "shop/web");
            assert_eq!(found.unwrap().1.requests, 14, "what came first is counted in full");
        }
    }

    #[test]
    fn a_sum_of_the_most_services_that_a_tally_may_have_excludes_none() {
        let names = names(0, MAX_SERVICES, 60);
        let total = total([of(&names, 1000), of(&names, 1000)]);
        assert_eq!(
            (total.excluded(), total.tally(9).unwrap().services.len()),
            (0, MAX_SERVICES)
        );
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_counted_twice(all in tallies()) {
            let all: Vec<_> = all.iter().map(|tally| tally.borrow()).collect();
            let mut wanted: BTreeMap<&str, u64> = BTreeMap::new();
            for (name, count) in all.iter().flat_map(|tally| &tally.services) {
                *wanted.entry(name).or_default() += count.requests;
            }
            let total = total(all);
            let services = total.tally(0).map(|tally| tally.services).unwrap_or_default();
            prop_assert!(services.is_sorted_by(|a, b| a.0 < b.0));
            let found: BTreeMap<_, _> = services.iter().map(|(name, count)| (*name, count.requests)).collect();
            prop_assert_eq!(found, wanted);
        }

        #[test]
        fn the_order_of_the_tallies_does_not_matter_while_there_is_room(all in tallies(), turn in 0..8usize) {
            let all: Vec<_> = all.iter().map(|tally| tally.borrow()).collect();
            let mut turned = all.clone();
            turned.rotate_left(turn.min(all.len()));
            let [one, other] = [total(all), total(turned)];
            prop_assert_eq!(one.tally(0), other.tally(0));
        }
    }
}
