//! The results of a benchmark: printed as a table, saved as JSON. A row is the same work done in several rounds. No number
//! makes a benchmark fail, because on a shared machine it depends on other work as much as on a change.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

const ROUNDS: usize = 21;

/// Rows under one name.
pub struct Table {
    name: &'static str,
    rows: Vec<Row>,
}

#[derive(serde::Serialize)]
#[serde(untagged)]
enum Row {
    Durations {
        label: String,
        rounds: usize,
        median_ns: u128,
        /// The middle half of the rounds lies between the quartiles.
        lower_quartile_ns: u128,
        upper_quartile_ns: u128,
    },
    Counts {
        label: String,
        rounds: usize,
        median: u64,
        lower_quartile: u64,
        upper_quartile: u64,
    },
    Memory {
        label: String,
        bytes: u64,
    },
    Ratio {
        label: String,
        ratio: f64,
    },
}

impl Table {
    /// Prints the heading.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        println!("{name:<60}  {:>10}  {:>23}", "median", "middle half of rounds");
        Self { name, rows: Vec::new() }
    }

    /// Does the work in every round, prints the row, and returns the median.
    pub fn measure(&mut self, label: impl Into<String>, mut work: impl FnMut()) -> Duration {
        let rounds = (0..ROUNDS).map(|_| {
            let started = Instant::now();
            work();
            started.elapsed()
        });
        self.durations(label, rounds.collect())
    }

    /// Prints a row of measured durations, and returns the median.
    ///
    /// # Panics
    /// If there is none.
    pub fn durations(&mut self, label: impl Into<String>, rounds: Vec<Duration>) -> Duration {
        let (count, label) = (rounds.len(), label.into());
        let [lower, median, upper] = quartiles(rounds);
        println!("{label:<60}  {median:>10.1?}  {lower:>10.1?} – {upper:>10.1?}");
        self.rows.push(Row::Durations {
            label,
            rounds: count,
            median_ns: median.as_nanos(),
            lower_quartile_ns: lower.as_nanos(),
            upper_quartile_ns: upper.as_nanos(),
        });
        median
    }

    /// Prints a row of measured counts, and returns the median.
    ///
    /// # Panics
    /// If there is none.
    pub fn counts(&mut self, label: impl Into<String>, rounds: Vec<u64>) -> u64 {
        let (count, label) = (rounds.len(), label.into());
        let [lower_quartile, median, upper_quartile] = quartiles(rounds);
        println!("{label:<60}  {median:>10}  {lower_quartile:>10} – {upper_quartile:>10}");
        self.rows.push(Row::Counts {
            label,
            rounds: count,
            median,
            lower_quartile,
            upper_quartile,
        });
        median
    }

    /// Prints an amount of memory.
    #[allow(clippy::cast_precision_loss, reason = "printed with one decimal")]
    pub fn memory(&mut self, label: impl Into<String>, bytes: u64) {
        let label = label.into();
        println!("{label:<60}  {:>6.1} MiB", bytes as f64 / f64::from(1 << 20));
        self.rows.push(Row::Memory { label, bytes });
    }

    /// Prints a ratio of two measurements.
    pub fn ratio(&mut self, label: impl Into<String>, ratio: f64) {
        let label = label.into();
        println!("{label:<60}  {ratio:>10.2}");
        self.rows.push(Row::Ratio { label, ratio });
    }

    /// Saves the rows as `bench/NAME.json` in the target folder. `temporary` is the benchmark's `CARGO_TARGET_TMPDIR`.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub fn save(self, temporary: &str) {
        self.write(temporary, &self.rows);
    }

    /// Saves an object: the rows under `rows`, and the keys of `more`.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub fn save_with(self, temporary: &str, more: impl serde::Serialize) {
        #[derive(serde::Serialize)]
        struct Saved<'a, More> {
            #[serde(flatten)]
            more: More,
            rows: &'a [Row],
        }
        let rows = &self.rows;
        self.write(temporary, &Saved { more, rows });
    }

    fn write(&self, temporary: &str, content: &impl serde::Serialize) {
        let folder = Path::new(temporary).with_file_name("bench");
        fs::create_dir_all(&folder).expect("the target folder");
        let file = folder.join(self.name).with_extension("json");
        fs::write(&file, serde_json::to_vec_pretty(content).expect("JSON")).expect("a file");
        println!("saved in {}", file.display());
    }
}

/// A quarter of the rounds lies below the first, half below the second, three quarters below the third.
fn quartiles<T: Ord + Copy>(mut rounds: Vec<T>) -> [T; 3] {
    rounds.sort_unstable();
    let count = rounds.len();
    [count / 4, count / 2, count * 3 / 4].map(|index| rounds[index])
}
