//! What is done to the clusters, and what it costs their proxies.

use std::{
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use crate::{
    crowd::Crowd,
    process::resident,
    stretch::Longest,
    table::Table,
    town::{Mode, Slice, Town},
};

/// A slice of time: twice that of the HPA controller's rounds, and as long as the longest windows.
const SLICE: Duration = Duration::from_secs(30);

/// Slices of each phase, after one second to begin with.
const SLICES: usize = 3;

/// Changes at the API server until they show in a header.
const SHOWN: u32 = 10;

/// Beyond what any HPA of the crowd has otherwise.
const SHOWN_FROM: u32 = 100;

/// The HPA controller's round.
const ROUND: Duration = Duration::from_secs(15);

/// What changes within [`ROUND`], spread over it.
pub(crate) struct Change {
    /// Of a hundred.
    percent: usize,
    apply: fn(&mut Crowd, usize),
}

pub(crate) const CHANGES: [(&str, Change); 4] = [
    (
        "nothing changes",
        Change {
            percent: 0,
            apply: |_, _| (),
        },
    ),
    (
        "1 % of the HPAs every 15 s",
        Change {
            percent: 1,
            apply: Crowd::scale_next,
        },
    ),
    (
        "10 % of the HPAs every 15 s",
        Change {
            percent: 10,
            apply: Crowd::scale_next,
        },
    ),
    (
        "1 % of the Deployments rolled every 15 s",
        Change {
            percent: 1,
            apply: Crowd::roll_next,
        },
    ),
];

/// The name of a row, by the number of Services.
#[derive(Clone, Copy)]
pub(crate) struct Row(pub(crate) usize);

impl Row {
    pub(crate) fn of(self, what: &str) -> String {
        format!("{} services: {what}", self.0)
    }
}

/// A proxy with its row, and what was found so far.
pub(crate) struct Run {
    row: Row,
    town: Town,
    /// To read everything once.
    whole: u64,
    longest: Longest,
    misses: u64,
}

impl Run {
    pub(crate) fn new(row: Row, town: Town, whole: u64) -> Self {
        Self {
            row,
            misses: 0,
            town,
            whole,
            longest: Longest::default(),
        }
    }

    /// What naive polling would have read in a minute.
    fn polled(&self) -> u64 {
        self.whole * 12
    }

    fn report(&mut self, what: &str, slices: &[Slice], table: &mut Table) {
        let row = |of: &str| self.row.of(&format!("{what}: {of}"));
        let per_minute = 60 / SLICE.as_secs();
        let bytes = slices.iter().map(|slice| slice.bytes * per_minute).collect();
        let bytes = table.counts(row("bytes a minute"), bytes);
        #[allow(clippy::cast_precision_loss, reason = "for people")]
        table.ratio(row("polling ÷ that"), self.polled() as f64 / bytes as f64);
        let minute = u32::try_from(per_minute).unwrap_or_default();
        table.times(
            row("CPU a minute"),
            slices.iter().map(|slice| slice.cpu * minute).collect(),
        );
        table.times(
            row("longest of main"),
            slices.iter().map(|slice| slice.longest.main).collect(),
        );
        table.times(
            row("longest of a worker"),
            slices.iter().map(|slice| slice.longest.worker).collect(),
        );
        for slice in slices {
            self.longest.main = self.longest.main.max(slice.longest.main);
            self.longest.worker = self.longest.worker.max(slice.longest.worker);
            self.misses += slice.misses;
        }
    }

    pub(crate) fn over_all(&mut self, table: &mut Table) {
        let Self {
            row,
            town,
            longest,
            misses,
            ..
        } = self;
        table.times(row.of("longest stretch of main"), vec![longest.main]);
        table.times(row.of("longest stretch of a worker"), vec![longest.worker]);
        table.counts(row.of("watchdog misses"), vec![*misses]);
        table.memory(row.of("resident"), resident(town.proxy.envoy.id()));
    }
}

/// The same change at all sizes, for some slices.
pub(crate) fn change(sizes: &mut [Run], what: &str, change: &Change, table: &mut Table) {
    let begin = Barrier::new(sizes.len());
    let slices: Vec<Vec<_>> = thread::scope(|scope| {
        let runs: Vec<_> = sizes
            .iter_mut()
            .map(|size| {
                let begin = &begin;
                scope.spawn(move || {
                    let slice = || {
                        begin.wait();
                        size.town.slice(|crowd| change.make(crowd, SLICE))
                    };
                    std::iter::repeat_with(slice).take(SLICES).collect()
                })
            })
            .collect();
        runs.into_iter().map(|run| run.join().expect("a slice")).collect()
    });
    for (size, slices) in sizes.iter_mut().zip(&slices) {
        size.report(what, slices, table);
    }
}

impl Change {
    /// Makes it for a while, a part of it each second.
    fn make(&self, crowd: &mut Crowd, lasts: Duration) {
        let started = Instant::now();
        let mut made = 0;
        for second in 1..=lasts.as_secs() {
            let next = Duration::from_secs(second);
            thread::sleep(next.saturating_sub(started.elapsed()));
            let until = usize::try_from(next.as_millis()).unwrap_or_default() * crowd.services * self.percent
                / 100
                / usize::try_from(ROUND.as_millis()).unwrap_or(usize::MAX);
            (self.apply)(crowd, until - made);
            made = until;
        }
    }
}

/// The time until a change shows, at all sizes.
pub(crate) fn changes_show(sizes: &mut [Run], table: &mut Table) {
    let shown: Vec<Vec<_>> = thread::scope(|scope| {
        let runs: Vec<_> = sizes
            .iter_mut()
            .map(|size| {
                scope.spawn(move || {
                    let one = |number| {
                        // Not always at the same moment of a window.
                        thread::sleep(Duration::from_millis(u64::from(number) * 370 % 1_000));
                        size.town.change_shows(SHOWN_FROM + number)
                    };
                    (0..SHOWN).map(one).collect()
                })
            })
            .collect();
        runs.into_iter().map(|run| run.join().expect("a change")).collect()
    });
    for (size, shown) in sizes.iter().zip(shown) {
        let times: Vec<_> = shown.iter().map(|shown| shown.time).collect();
        let spreads: Vec<_> = shown.iter().map(|shown| shown.spread).collect();
        for (what, longest_of, times) in [
            ("from a change to the header", "the longest of them", times),
            ("of it, since the first VM had it", "… the longest", spreads),
        ] {
            let longest = times.iter().max().copied().unwrap_or_default();
            table.times(size.row.of(what), times);
            table.times(size.row.of(longest_of), vec![longest]);
        }
    }
}

/// What polling costs, one size after the other: the larger ones take most of a CPU.
pub(crate) fn poll(sizes: Vec<Run>, table: &mut Table) {
    let (_, one_percent) = &CHANGES[1];
    for Run { row, town, .. } in sizes {
        let mut town = Town::start(town.crowd, Mode::Poll);
        let slices: Vec<_> = (0..SLICES)
            .map(|_| town.slice(|crowd| one_percent.make(crowd, SLICE)))
            .collect();
        let minute = u32::try_from(60 / SLICE.as_secs()).unwrap_or_default();
        let row = |what: &str| row.of(&format!("polling every 5 s: {what}"));
        table.counts(
            row("bytes a minute"),
            slices.iter().map(|slice| slice.bytes * u64::from(minute)).collect(),
        );
        table.times(
            row("CPU a minute"),
            slices.iter().map(|slice| slice.cpu * minute).collect(),
        );
    }
}
