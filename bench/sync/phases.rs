//! The changes of the clusters, and their cost for the proxies.

use std::{
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use burst_bench_kit::{FixtureCluster, Table, cpu_bursts::LongestBursts, process::resident_bytes};

use crate::proxy_under_test::{Mode, Propagation, ProxyUnderTest, Slice};

/// The length of a slice: two periods of the HPA controller, and the longest watch.
const SLICE: Duration = Duration::from_secs(30);

const SLICES_PER_MINUTE: u32 = 2;

/// Slices of each phase.
const SLICES: usize = 3;

/// Single changes whose propagation to the header is timed.
const PROPAGATIONS: u32 = 10;

/// More replicas than any HPA has otherwise.
const UNUSED_REPLICAS: u32 = 100;

/// The period of the HPA controller.
const PERIOD: Duration = Duration::from_secs(15);

/// Changes that are spread over every [`PERIOD`].
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    /// The objects that change in a period, in percent of the Services.
    percent: usize,
    change: fn(&mut FixtureCluster, usize),
}

pub(crate) const WORKLOADS: [Workload; 4] = [
    Workload {
        name: "nothing changes",
        percent: 0,
        change: |_, _| (),
    },
    ONE_PERCENT,
    Workload {
        name: "10 % of the HPAs every 15 s",
        percent: 10,
        change: FixtureCluster::scale_next,
    },
    Workload {
        name: "1 % of the Deployments rolled every 15 s",
        percent: 1,
        change: FixtureCluster::restart_next,
    },
];

const ONE_PERCENT: Workload = Workload {
    name: "1 % of the HPAs every 15 s",
    percent: 1,
    change: FixtureCluster::scale_next,
};

/// The number of Services, which begins the name of a row.
#[derive(Clone, Copy)]
pub(crate) struct Label(pub(crate) usize);

impl Label {
    pub(crate) fn of(self, row_name: &str) -> String {
        format!("{} services: {row_name}", self.0)
    }
}

/// A proxy, and the results so far.
pub(crate) struct Run {
    label: Label,
    proxy: ProxyUnderTest,
    /// The bytes of reading everything once.
    full_read: u64,
    longest: LongestBursts,
    misses: u64,
}

impl Run {
    pub(crate) fn new(label: Label, proxy: ProxyUnderTest, full_read: u64) -> Self {
        Self {
            label,
            misses: 0,
            proxy,
            full_read,
            longest: LongestBursts::default(),
        }
    }

    /// The bytes that polling every 5 s would read in a minute.
    fn polled_bytes(&self) -> u64 {
        self.full_read * 12
    }

    fn report(&mut self, row_name: &str, slices: &[Slice], table: &mut Table) {
        let row = |of: &str| self.label.of(&format!("{row_name}: {of}"));
        let bytes = slices
            .iter()
            .map(|slice| slice.bytes * u64::from(SLICES_PER_MINUTE))
            .collect();
        let bytes = table.counts(row("bytes a minute"), bytes);
        #[allow(clippy::cast_precision_loss, reason = "printed with two decimals")]
        table.ratio(row("polling ÷ that"), self.polled_bytes() as f64 / bytes as f64);
        table.durations(
            row("CPU a minute"),
            slices.iter().map(|slice| slice.cpu * SLICES_PER_MINUTE).collect(),
        );
        table.durations(
            row("longest of main"),
            slices.iter().map(|slice| slice.longest.main).collect(),
        );
        table.durations(
            row("longest of a worker"),
            slices.iter().map(|slice| slice.longest.worker).collect(),
        );
        for slice in slices {
            self.longest.main = self.longest.main.max(slice.longest.main);
            self.longest.worker = self.longest.worker.max(slice.longest.worker);
            self.misses += slice.misses;
        }
    }

    pub(crate) fn report_totals(&self, table: &mut Table) {
        let label = self.label;
        table.durations(label.of("longest burst of main"), vec![self.longest.main]);
        table.durations(label.of("longest burst of a worker"), vec![self.longest.worker]);
        table.counts(label.of("watchdog misses"), vec![self.misses]);
        table.memory(label.of("resident"), resident_bytes(self.proxy.proxy.envoy.id()));
    }
}

/// Makes the same changes at all sizes at the same time, for some slices.
pub(crate) fn run_workload(runs: &mut [Run], workload: &Workload, table: &mut Table) {
    let start = Barrier::new(runs.len());
    let slices: Vec<Vec<_>> = thread::scope(|scope| {
        let threads: Vec<_> = runs
            .iter_mut()
            .map(|run| {
                let start = &start;
                scope.spawn(move || {
                    let slice = || {
                        start.wait();
                        run.proxy.slice(|fixtures| workload.apply(fixtures, SLICE))
                    };
                    std::iter::repeat_with(slice).take(SLICES).collect()
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a slice"))
            .collect()
    });
    for (run, slices) in runs.iter_mut().zip(&slices) {
        run.report(workload.name, slices, table);
    }
}

impl Workload {
    /// Makes its changes for so long, some of them each second.
    fn apply(&self, fixtures: &mut FixtureCluster, length: Duration) {
        let started = Instant::now();
        let mut made = 0;
        for second in 1..=length.as_secs() {
            let next = Duration::from_secs(second);
            thread::sleep(next.saturating_sub(started.elapsed()));
            let due = usize::try_from(next.as_millis()).unwrap_or_default() * fixtures.services * self.percent
                / 100
                / usize::try_from(PERIOD.as_millis()).unwrap_or(usize::MAX);
            (self.change)(fixtures, due - made);
            made = due;
        }
    }
}

/// Measures the time until a change is in the headers, at all sizes at the same time.
pub(crate) fn propagate_changes(runs: &mut [Run], table: &mut Table) {
    let measured: Vec<Vec<_>> = thread::scope(|scope| {
        let threads: Vec<_> = runs
            .iter_mut()
            .map(|run| scope.spawn(move || (0..PROPAGATIONS).map(|number| propagate(run, number)).collect()))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a change"))
            .collect()
    });
    for (run, propagations) in runs.iter().zip(measured) {
        let times: Vec<_> = propagations.iter().map(|propagation| propagation.time).collect();
        let spreads: Vec<_> = propagations.iter().map(|propagation| propagation.spread).collect();
        for (row_name, longest_of, times) in [
            ("from a change to the header", "the longest of them", times),
            ("of it, since the first VM had it", "… the longest", spreads),
        ] {
            let longest = times.iter().max().copied().unwrap_or_default();
            table.durations(run.label.of(row_name), times);
            table.durations(run.label.of(longest_of), vec![longest]);
        }
    }
}

fn propagate(run: &mut Run, number: u32) -> Propagation {
    // The changes come at different moments of a watch.
    thread::sleep(Duration::from_millis(u64::from(number) * 370 % 1_000));
    run.proxy.propagate(UNUSED_REPLICAS + number)
}

/// Measures the cost of polling, one size after the other, because the larger ones take most of a CPU.
pub(crate) fn poll(runs: Vec<Run>, table: &mut Table) {
    for Run { label, proxy, .. } in runs {
        let mut proxy = ProxyUnderTest::start(proxy.fixtures, Mode::Poll);
        let slices: Vec<_> = (0..SLICES)
            .map(|_| proxy.slice(|fixtures| ONE_PERCENT.apply(fixtures, SLICE)))
            .collect();
        let row = |row_name: &str| label.of(&format!("polling every 5 s: {row_name}"));
        table.counts(
            row("bytes a minute"),
            slices
                .iter()
                .map(|slice| slice.bytes * u64::from(SLICES_PER_MINUTE))
                .collect(),
        );
        table.durations(
            row("CPU a minute"),
            slices.iter().map(|slice| slice.cpu * SLICES_PER_MINUTE).collect(),
        );
    }
}
