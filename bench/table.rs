//! What the benchmarks share: a row is the same work done again and again. Printed as a table, kept as JSON.
//! Nothing here passes or fails: on a shared machine the numbers say more about the neighbours than about a change.

use std::path::Path;
use std::time::{Duration, Instant};

const ROUNDS: usize = 21;

/// Rows under one name.
pub(crate) struct Table {
    name: &'static str,
    rows: Vec<Row>,
}

#[derive(serde::Serialize)]
struct Row {
    what: String,
    rounds: usize,
    median_ns: u128,
    /// The middle half of the rounds lies between these two.
    lower_quartile_ns: u128,
    upper_quartile_ns: u128,
}

impl Table {
    /// Prints the head.
    pub(crate) fn new(name: &'static str) -> Self {
        println!("{:<44}  {:>10}  {:>23}", name, "median", "middle half of rounds");
        Self { name, rows: Vec::new() }
    }

    /// Does the work, prints the row, and gives the median.
    pub(crate) fn row(&mut self, what: impl Into<String>, mut work: impl FnMut()) -> Duration {
        let mut rounds: Vec<Duration> = (0..ROUNDS)
            .map(|_| {
                let started = Instant::now();
                work();
                started.elapsed()
            })
            .collect();
        rounds.sort();
        let [lower, median, upper] = [ROUNDS / 4, ROUNDS / 2, ROUNDS * 3 / 4].map(|place| rounds[place]);
        let what = what.into();
        println!("{what:<44}  {median:>10.1?}  {lower:>10.1?} – {upper:>10.1?}");
        self.rows.push(Row {
            what,
            rounds: ROUNDS,
            median_ns: median.as_nanos(),
            lower_quartile_ns: lower.as_nanos(),
            upper_quartile_ns: upper.as_nanos(),
        });
        median
    }

    /// Writes `bench/NAME.json` in the target folder; `temporary` is the benchmark's `CARGO_TARGET_TMPDIR`.
    pub(crate) fn keep(self, temporary: &str) {
        let folder = Path::new(temporary).with_file_name("bench");
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join(self.name).with_extension("json");
        std::fs::write(&file, serde_json::to_vec_pretty(&self.rows).unwrap()).unwrap();
        println!("kept in {}", file.display());
    }
}
