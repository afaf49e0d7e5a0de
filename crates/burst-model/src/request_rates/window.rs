//! The requests of a VM within a sliding window: the difference between its counters now and at the start of the window,
//! from which a few samples are kept.

use super::address_meter::AddressMeter;
use super::count::RequestCounts;
use super::count::ServiceCounters;
use super::meter::Meter;
use super::tally::Tally;
use crate::time::Time;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

/// Samples within a window. The window is longer than configured by a sixth at most.
const STEPS: u32 = 6;

/// The counters at a point in time.
#[derive(Debug)]
struct CounterSample {
    at: Time,
    counters: Box<[ServiceCounters]>,
    /// Empty if addresses are not counted.
    addresses: Box<[ServiceCounters]>,
    /// The responses whose address could not be counted.
    uncounted: u64,
}

/// The recent past of a [`Meter`].
#[derive(Debug)]
pub struct SlidingWindow {
    length: Duration,
    /// The window begins at the oldest sample. Never empty.
    samples: VecDeque<CounterSample>,
    last_tick: Time,
}

impl SlidingWindow {
    /// A window of that length, for a meter that has counted nothing.
    #[must_use]
    pub fn new(length: Duration, now: Time) -> Self {
        let mut window = Self {
            length,
            samples: VecDeque::new(),
            last_tick: now,
        };
        window.restart(&Meter::default(), now);
        window
    }

    fn restart(&mut self, meter: &Meter, now: Time) {
        self.samples.clear();
        self.record_sample(meter, now);
    }

    fn record_sample(&mut self, meter: &Meter, now: Time) {
        self.samples.push_back(CounterSample {
            at: now,
            counters: meter.counters(),
            addresses: meter
                .addresses
                .as_ref()
                .map(AddressMeter::counters)
                .unwrap_or_default()
                .into(),
            uncounted: meter.addresses.as_ref().map_or(0, AddressMeter::uncounted),
        });
    }

    /// Advances the window. Any root context of the VM may call this, in each of its ticks.
    pub fn tick(&mut self, meter: &mut Meter, now: Time) {
        let passed = now.since(self.last_tick);
        let jumped = now < self.last_tick || passed > self.length;
        self.last_tick = now;
        if jumped {
            // The time of the requests since the last tick is unknown.
            return self.restart(meter, now);
        }
        meter.advance(u64::try_from(passed.as_millis()).unwrap_or(u64::MAX));
        if self
            .samples
            .back()
            .is_none_or(|state| now.since(state.at) >= self.length / STEPS)
        {
            self.record_sample(meter, now);
        }
        let is_old = |state: &CounterSample| now.since(state.at) >= self.length;
        while self.samples.get(1).is_some_and(is_old) {
            self.samples.pop_front();
            if let (Some(addresses), Some(begin)) = (&mut meter.addresses, self.samples.front()) {
                addresses.release_idle(&begin.addresses);
            }
        }
    }

    /// The requests of each address within the window that began with that sample. `None` if there are too many.
    fn addresses(addresses: &AddressMeter, begin: &CounterSample) -> Option<Vec<(IpAddr, RequestCounts)>> {
        let counts = addresses.addresses().filter_map(|(address, slot, counters)| {
            let before = begin.addresses.get(slot).copied().unwrap_or_default();
            let requests = counters.requests.wrapping_sub(before.requests);
            let count = RequestCounts {
                requests: requests.into(),
                rejected: counters.rejected.wrapping_sub(before.rejected).into(),
                in_flight_milli: None,
            };
            (requests > 0).then_some((address, count))
        });
        (addresses.uncounted() == begin.uncounted).then(|| counts.collect())
    }

    /// The tally of the window up to `now`, the time of the last tick. `None` if no time has passed.
    #[must_use]
    pub fn tally<'a>(&self, meter: &'a Meter, id: u64, now: Time) -> Option<Tally<'a>> {
        let begin = self.samples.front()?;
        let span = now.since(begin.at);
        let millis = u64::try_from(span.as_millis()).ok().filter(|millis| *millis > 0)?;
        let services = meter.services().map(|(name, slot, tally, knows_load)| {
            let before = begin.counters.get(slot).copied().unwrap_or_default();
            let load = tally.load.wrapping_sub(before.load);
            let count = RequestCounts {
                requests: tally.requests.wrapping_sub(before.requests).into(),
                rejected: tally.rejected.wrapping_sub(before.rejected).into(),
                in_flight_milli: knows_load.then(|| load.saturating_mul(1000) / millis),
            };
            (name, count)
        });
        Some(Tally {
            id,
            taken_at: now,
            span,
            services: services.collect(),
            addresses: meter
                .addresses
                .as_ref()
                .and_then(|addresses| Self::addresses(addresses, begin)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::Upstreams;
    use proptest::prelude::*;

    const LENGTH: Duration = Duration::from_secs(30);
    const WEB: &[u8] = b"outbound|80||web.shop.svc.cluster.local";

    /// A VM with a meter and its window.
    struct Vm {
        upstreams: Upstreams,
        meter: Meter,
        window: SlidingWindow,
        now: Time,
    }

    impl Vm {
        fn new() -> Self {
            let now = Time::from_unix_millis(1_000_000_000);
            Self {
                upstreams: Upstreams::new(Vec::new(), "cluster.local"),
                meter: Meter::default(),
                window: SlidingWindow::new(LENGTH, now),
                now,
            }
        }

        fn serve(&mut self, requests: u32) {
            for _ in 0..requests {
                self.meter.count_response(&self.upstreams, WEB, &(), false);
            }
        }

        /// Ticks once a second for so long, with that many requests before each tick.
        fn run(&mut self, seconds: u32, requests: u32) {
            for _ in 0..seconds {
                self.serve(requests);
                self.jump(1_000);
            }
        }

        /// The next tick, so many milliseconds later, or earlier.
        fn jump(&mut self, millis: i64) {
            self.now = Time::from_unix_millis(self.now.unix_millis().checked_add_signed(millis).unwrap());
            self.window.tick(&mut self.meter, self.now);
        }

        /// The requests to the one Service, and the seconds they were counted over.
        fn seen(&self) -> Option<(u64, u64)> {
            let tally = self.window.tally(&self.meter, 1, self.now)?;
            let requests = tally.services.first().map_or(0, |(_, count)| count.requests);
            Some((requests, tally.span.as_secs()))
        }
    }

    #[test]
    fn a_young_vm_counts_over_its_lifetime_and_an_old_one_over_the_window() {
        let mut vm = Vm::new();
        assert_eq!(vm.seen(), None, "no time has passed");
        vm.run(3, 10);
        assert_eq!(vm.seen(), Some((30, 3)));
        vm.run(57, 10);
        assert_eq!(vm.seen(), Some((300, 30)));
    }

    #[test]
    fn requests_leave_the_window_when_they_are_older_than_it() {
        let mut vm = Vm::new();
        vm.run(60, 0);
        vm.serve(100);
        vm.run(29, 0);
        assert_eq!(vm.seen().map(|(requests, _)| requests), Some(100));
        vm.run(10, 0);
        assert_eq!(
            vm.seen(),
            Some((0, 34)),
            "known to be none: the window is longer by a step at most"
        );
    }

    /// The requests and rejected requests by address within the window.
    fn addresses(vm: &Vm) -> Option<Vec<(String, u64, u64)>> {
        let addresses = vm.window.tally(&vm.meter, 1, vm.now).unwrap().addresses?;
        let texts = addresses.iter();
        Some(
            texts
                .map(|(address, count)| (address.to_string(), count.requests, count.rejected))
                .collect(),
        )
    }

    #[test]
    fn requests_by_address_leave_the_window_and_their_slot_is_free_for_another_address() {
        let mut vm = Vm::new();
        assert_eq!((vm.run(1, 0), addresses(&vm)), ((), None), "not counted");
        vm.meter = Meter::with_addresses();
        vm.meter.count_address(|| None, false);
        vm.meter.count_address(|| Some(b"10.0.0.1:80".to_vec()), true);
        vm.meter.count_address(|| Some(b"10.0.0.1:80".to_vec()), false);
        vm.run(1, 0);
        assert_eq!(addresses(&vm), Some(vec![("10.0.0.1".to_owned(), 2, 1)]));
        vm.run(80, 0);
        assert_eq!(addresses(&vm), Some(vec![]));
        vm.meter.count_address(|| Some(b"10.0.0.2:80".to_vec()), false);
        vm.run(1, 0);
        assert_eq!(addresses(&vm), Some(vec![("10.0.0.2".to_owned(), 1, 0)]));
        assert_eq!(vm.meter.addresses.as_ref().unwrap().counters().len(), 1, "one slot");
    }

    #[test]
    fn addresses_are_unknown_for_a_window_if_one_could_not_be_counted() {
        let mut vm = Vm::new();
        vm.meter = Meter::with_addresses();
        vm.run(3, 0);
        vm.meter.count_address(|| Some(b"10.0.0.1:80".to_vec()), false);
        vm.meter
            .count_address(|| Some(b"envoy://somewhere/10.0.0.1:80".to_vec()), false);
        vm.run(1, 0);
        assert_eq!(addresses(&vm), None);
        vm.run(40, 0);
        assert_eq!(addresses(&vm), Some(vec![]));
    }

    #[test]
    fn a_counter_may_wrap_around() {
        let mut vm = Vm::new();
        vm.run(1, 5);
        vm.meter.set_requests(u32::MAX - 3);
        // The window begins anew, with the counter there.
        vm.jump(-1);
        vm.run(2, 5);
        assert_eq!(vm.seen(), Some((10, 2)));
    }

    #[test]
    fn a_clock_jump_starts_a_new_window() {
        for by in [-3_600_000, -1, 3_600_000] {
            let mut vm = Vm::new();
            vm.run(20, 10);
            vm.serve(1_000);
            vm.jump(by);
            assert_eq!(vm.seen(), None, "{by}");
            vm.run(5, 10);
            assert_eq!(vm.seen(), Some((50, 5)), "{by}");
        }
    }

    #[test]
    fn requests_in_flight_are_averaged_over_the_window() {
        let mut vm = Vm::new();
        let slot = vm.meter.begin(&vm.upstreams, WEB, &()).unwrap();
        vm.meter.begin(&vm.upstreams, WEB, &()).unwrap();
        vm.run(15, 0);
        vm.meter.end(slot);
        vm.run(15, 0);
        let in_flight = |vm: &Vm| {
            vm.window.tally(&vm.meter, 1, vm.now).unwrap().services[0]
                .1
                .in_flight_milli
        };
        assert_eq!(in_flight(&vm), Some(1_500));
        vm.meter.end(slot);
        vm.run(40, 0);
        vm.meter.end(slot);
        assert_eq!(in_flight(&vm), Some(0), "and never below none");
    }

    #[test]
    fn two_root_contexts_that_tick_one_vm_count_nothing_twice() {
        let mut vm = Vm::new();
        vm.meter.begin(&vm.upstreams, WEB, &());
        for _ in 0..60 {
            vm.run(1, 10);
            vm.jump(0);
        }
        assert_eq!(vm.seen(), Some((300, 30)));
        let tally = vm.window.tally(&vm.meter, 1, vm.now).unwrap();
        assert_eq!(tally.services[0].1.in_flight_milli, Some(1_000));
    }

    proptest! {
        #[test]
        fn a_window_has_exactly_the_requests_of_the_ticks_in_it(
            ticks in proptest::collection::vec((0..5u32, 1..20_000i64), 1..60),
        ) {
            let mut vm = Vm::new();
            let mut past = Vec::new();
            for (requests, millis) in ticks {
                vm.serve(requests);
                vm.jump(millis);
                past.push((vm.now, u64::from(requests)));
            }
            let tally = vm.window.tally(&vm.meter, 1, vm.now).unwrap();
            let covered = u64::try_from(tally.span.as_millis()).unwrap();
            let begin = vm.now.unix_millis() - covered;
            let wanted: u64 = past.iter().filter(|(at, _)| at.unix_millis() > begin).map(|(_, requests)| requests).sum();
            prop_assert_eq!(tally.services.first().map_or(0, |(_, count)| count.requests), wanted);
            let whole = vm.now.unix_millis() - 1_000_000_000;
            prop_assert!(covered == whole || covered >= 30_000, "{covered} ms of {whole}");
            prop_assert!(covered < 30_000 + 5_000 + 20_000, "a step and a late tick at most: {covered} ms");
        }

        #[test]
        fn any_clock_keeps_few_samples(jumps in proptest::collection::vec(-50_000..50_000i64, 0..60)) {
            let mut vm = Vm::new();
            for millis in jumps {
                vm.serve(1);
                if vm.now.unix_millis().checked_add_signed(millis).is_some() {
                    vm.jump(millis);
                }
                let _ = vm.seen();
                prop_assert!(vm.window.samples.len() <= STEPS as usize + 2);
            }
        }
    }
}
