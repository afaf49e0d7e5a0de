//! What the benchmarks share: a row is the same work done again and again. Printed as a table, kept as JSON.
//! Nothing here passes or fails: on a shared machine the numbers say more about the neighbours than about a change.

use std::path::Path;
use std::time::{Duration, Instant};

const ROUNDS: usize = 21;

/// Rows under one name.
pub struct Table {
    name: &'static str,
    rows: Vec<Row>,
}

#[derive(serde::Serialize)]
#[serde(untagged)]
enum Row {
    Times {
        what: String,
        rounds: usize,
        median_ns: u128,
        /// The middle half of the rounds lies between these two.
        lower_quartile_ns: u128,
        upper_quartile_ns: u128,
    },
    Counts {
        what: String,
        rounds: usize,
        median: u64,
        lower_quartile: u64,
        upper_quartile: u64,
    },
    Memory {
        what: String,
        bytes: u64,
    },
    Ratio {
        what: String,
        ratio: f64,
    },
}

impl Table {
    /// Prints the head.
    pub fn new(name: &'static str) -> Self {
        println!("{:<60}  {:>10}  {:>23}", name, "median", "middle half of rounds");
        Self { name, rows: Vec::new() }
    }

    /// Does the work, prints the row, and gives the median.
    pub fn row(&mut self, what: impl Into<String>, mut work: impl FnMut()) -> Duration {
        let rounds = (0..ROUNDS).map(|_| {
            let started = Instant::now();
            work();
            started.elapsed()
        });
        self.times(what, rounds.collect())
    }

    /// Prints the row of times that were taken already, of one at least, and gives the median.
    pub fn times(&mut self, what: impl Into<String>, rounds: Vec<Duration>) -> Duration {
        let (count, what) = (rounds.len(), what.into());
        let [lower, median, upper] = quartiles(rounds);
        println!("{what:<60}  {median:>10.1?}  {lower:>10.1?} – {upper:>10.1?}");
        self.rows.push(Row::Times {
            what,
            rounds: count,
            median_ns: median.as_nanos(),
            lower_quartile_ns: lower.as_nanos(),
            upper_quartile_ns: upper.as_nanos(),
        });
        median
    }

    /// Prints the row of amounts that were taken already, of one at least, and gives the median.
    pub fn counts(&mut self, what: impl Into<String>, rounds: Vec<u64>) -> u64 {
        let (count, what) = (rounds.len(), what.into());
        let [lower_quartile, median, upper_quartile] = quartiles(rounds);
        println!("{what:<60}  {median:>10}  {lower_quartile:>10} – {upper_quartile:>10}");
        self.rows.push(Row::Counts {
            what,
            rounds: count,
            median,
            lower_quartile,
            upper_quartile,
        });
        median
    }

    /// Prints an amount of memory.
    #[allow(clippy::cast_precision_loss, reason = "for people")]
    pub fn memory(&mut self, what: impl Into<String>, bytes: u64) {
        let what = what.into();
        println!("{what:<60}  {:>6.1} MiB", bytes as f64 / f64::from(1 << 20));
        self.rows.push(Row::Memory { what, bytes });
    }

    /// Prints how many times one number is the other.
    pub fn ratio(&mut self, what: impl Into<String>, ratio: f64) {
        let what = what.into();
        println!("{what:<60}  {ratio:>10.2}");
        self.rows.push(Row::Ratio { what, ratio });
    }

    /// Writes `bench/NAME.json` in the target folder; `temporary` is the benchmark's `CARGO_TARGET_TMPDIR`.
    pub fn keep(self, temporary: &str) {
        self.write(temporary, &self.rows);
    }

    /// The same as an object: the rows under `rows`, and what else there is to say under keys of its own.
    pub fn keep_with(self, temporary: &str, more: impl serde::Serialize) {
        #[derive(serde::Serialize)]
        struct Kept<'a, More> {
            #[serde(flatten)]
            more: More,
            rows: &'a [Row],
        }
        let rows = &self.rows;
        self.write(temporary, &Kept { more, rows });
    }

    fn write(&self, temporary: &str, content: &impl serde::Serialize) {
        let folder = Path::new(temporary).with_file_name("bench");
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join(self.name).with_extension("json");
        std::fs::write(&file, serde_json::to_vec_pretty(content).unwrap()).unwrap();
        println!("kept in {}", file.display());
    }
}

/// A quarter of the rounds lies below the first, half below the second, three quarters below the third.
fn quartiles<T: Ord + Copy>(mut rounds: Vec<T>) -> [T; 3] {
    rounds.sort_unstable();
    let count = rounds.len();
    [count / 4, count / 2, count * 3 / 4].map(|place| rounds[place])
}
