//! The changes of the clusters, and their cost for the proxies.

use std::{
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering},
    },
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

/// Single changes whose propagation to the header is timed, in a cluster that is quiet otherwise and in a busy one.
const QUIET_PROPAGATIONS: u32 = 100;
const BUSY_PROPAGATIONS: u32 = 30;

/// More replicas than any HPA has otherwise.
const UNUSED_REPLICAS: u32 = 1_000;

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
    TEN_PERCENT,
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

const TEN_PERCENT: Workload = Workload {
    name: "10 % of the HPAs every 15 s",
    percent: 10,
    change: FixtureCluster::scale_next,
};

/// What begins the name of a row.
#[derive(Clone, Copy)]
pub(crate) struct Label {
    pub(crate) services: usize,
    pub(crate) mode: Mode,
}

impl Label {
    pub(crate) fn of(self, row_name: &str) -> String {
        format!("{} services, {}: {row_name}", self.services, self.mode.name())
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
    /// When the phases began, and the requests to the API server until then.
    began: (Instant, u64),
}

impl Run {
    pub(crate) fn new(label: Label, proxy: ProxyUnderTest, full_read: u64) -> Self {
        Self {
            label,
            misses: 0,
            began: (Instant::now(), proxy.requests()),
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
        let requests = slices.iter().map(|slice| slice.requests * u64::from(SLICES_PER_MINUTE));
        table.counts(row("requests a minute"), requests.collect());
        let bytes = slices
            .iter()
            .map(|slice| slice.bytes * u64::from(SLICES_PER_MINUTE))
            .collect();
        let bytes = table.counts(row("bytes a minute"), bytes);
        // Streams may bring nothing in a quiet slice.
        #[allow(clippy::cast_precision_loss, reason = "printed with two decimals")]
        if bytes > 0 {
            table.ratio(row("polling ÷ that"), self.polled_bytes() as f64 / bytes as f64);
        }
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
        let (since, requests) = self.began;
        #[allow(clippy::cast_precision_loss, reason = "small numbers")]
        let requests = (self.proxy.requests() - requests) as f64 * 60.0 / since.elapsed().as_secs_f64();
        table.ratio(label.of("requests a minute"), requests);
        table.durations(label.of("longest burst of main"), vec![self.longest.main]);
        table.durations(label.of("longest burst of a worker"), vec![self.longest.worker]);
        table.counts(label.of("watchdog misses"), vec![self.misses]);
        table.memory(label.of("resident"), resident_bytes(self.proxy.proxy.envoy.id()));
    }
}

/// Makes the same changes in all clusters at the same time, for some slices.
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
    compare_modes(runs, &slices, workload, table);
}

/// Prints the CPU time of streams divided by that of windows, which they follow at each size.
fn compare_modes(runs: &[Run], slices: &[Vec<Slice>], workload: &Workload, table: &mut Table) {
    let cpu = |slices: &[Slice]| slices.iter().map(|slice| slice.cpu.as_secs_f64()).sum::<f64>();
    for (runs, slices) in runs.windows(2).zip(slices.windows(2)) {
        if let ([streams, windows], [of_streams, of_windows]) = (runs, slices)
            && [streams.label.mode, windows.label.mode] == [Mode::Streams, Mode::Windows]
        {
            let label = format!(
                "{} services: {}: CPU, streams ÷ windows",
                streams.label.services, workload.name
            );
            table.ratio(label, cpu(of_streams) / cpu(of_windows));
        }
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

/// Measures the time until a change is in the headers, of all proxies at the same time.
pub(crate) fn propagate_changes(runs: &mut [Run], table: &mut Table) {
    propagate_all(
        runs,
        "a change",
        |run| (0..QUIET_PROPAGATIONS).map(|number| propagate(run, number)).collect(),
        table,
    );
    let name = format!("a change, with {}", TEN_PERCENT.name);
    propagate_all(runs, &name, propagate_while_busy, table);
}

fn propagate_all(
    runs: &mut [Run],
    name: &str,
    propagate: impl Fn(&mut Run) -> Vec<Propagation> + Sync,
    table: &mut Table,
) {
    let measured: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = runs.iter_mut().map(|run| scope.spawn(|| propagate(run))).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("the changes");
        threads.into_iter().map(join).collect()
    });
    for (run, propagations) in runs.iter().zip(measured) {
        let times: Vec<_> = propagations.iter().map(|propagation| propagation.time).collect();
        let spreads: Vec<_> = propagations.iter().map(|propagation| propagation.spread).collect();
        for (row_name, times) in [
            ("to the header", times),
            ("of it, since the first worker had it", spreads),
        ] {
            let longest = times.iter().max().copied().unwrap_or_default();
            let row_name = run.label.of(&format!("{name}: {row_name}"));
            table.durations(format!("{row_name}: the longest"), vec![longest]);
            table.durations(row_name, times);
        }
    }
}

fn propagate_while_busy(run: &mut Run) -> Vec<Propagation> {
    let is_over = AtomicBool::new(false);
    let mut fixtures = run.proxy.fixtures.clone();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                TEN_PERCENT.apply(&mut fixtures, PERIOD);
            }
        });
        let numbers = QUIET_PROPAGATIONS..QUIET_PROPAGATIONS + BUSY_PROPAGATIONS;
        let propagations = numbers.map(|number| propagate(run, number)).collect();
        is_over.store(true, Ordering::Relaxed);
        propagations
    })
}

fn propagate(run: &mut Run, number: u32) -> Propagation {
    // The changes come at different moments of a window, and so rarely that each is published at once.
    let pause = match run.label.mode {
        Mode::Streams => Duration::from_secs(5),
        Mode::Windows | Mode::HeaderOnly | Mode::Lists => Duration::ZERO,
    };
    thread::sleep(pause + Duration::from_millis(u64::from(number) * 370 % 1_000));
    run.proxy.propagate(UNUSED_REPLICAS + number)
}

/// Measures the cost of full lists, one size after the other, because the larger ones take most of a CPU.
pub(crate) fn poll(runs: Vec<Run>, table: &mut Table) {
    for Run { label, proxy, .. } in runs.into_iter().filter(|run| run.label.mode == Mode::Windows) {
        let label = Label {
            mode: Mode::Lists,
            ..label
        };
        let proxy = ProxyUnderTest::start(proxy.fixtures, label.mode);
        let full_read = proxy.startup.bytes;
        let mut run = Run::new(label, proxy, full_read);
        let slice = || run.proxy.slice(|fixtures| ONE_PERCENT.apply(fixtures, SLICE));
        let slices: Vec<_> = std::iter::repeat_with(slice).take(SLICES).collect();
        run.report(ONE_PERCENT.name, &slices, table);
    }
}
