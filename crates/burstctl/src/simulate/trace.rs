//! A load over time, from CSV with the column `seconds` and one for each metric. A load lasts until the next line.

mod prometheus;

use burst_hpa::Quantity;

use self::prometheus::{PrometheusError, points};

/// The longest trace. A day already has 5,760 syncs.
pub(super) const MAX_SECONDS: u32 = 7 * 24 * 3600;

/// A load over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The names of the load columns.
    pub names: Vec<String>,
    rows: Vec<LoadPoint>,
}

/// The loads from a second on, until the next point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LoadPoint {
    pub(super) seconds: u32,
    /// The load of each metric in thousandths; `None` if the metric has no value.
    pub(super) loads: Vec<Option<i64>>,
}

/// Why a trace cannot be read. The text continues that of a file's name: `:3: …`, or `: …` without a line.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// A line of a CSV file.
    #[error(":{line}: {reason}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// An answer of Prometheus.
    #[error(": {0}")]
    Prometheus(#[from] PrometheusError),
}

impl Trace {
    /// Makes a trace of points whose seconds grow.
    pub(super) fn new(names: Vec<String>, points: Vec<LoadPoint>) -> Self {
        Self { names, rows: points }
    }

    /// Parses a trace with a load for each metric: CSV, or an answer of Prometheus, whose loads get these names.
    ///
    /// # Errors
    /// Returns the first line that is invalid, or why the answer is no trace.
    pub fn read(text: &str, metrics: &[String]) -> Result<Self, TraceError> {
        // Spreadsheets write a byte order mark at the start of their CSV files.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.trim_start().starts_with('{') {
            return Ok(Self::new(metrics.to_vec(), points(text, metrics.len())?));
        }
        Self::read_csv(text, metrics.len())
    }

    fn read_csv(text: &str, metrics: usize) -> Result<Self, TraceError> {
        let mut lines = text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line.trim()))
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let error_at = |line: usize, reason: String| TraceError::Line { line, reason };
        let (number, head) = lines
            .next()
            .ok_or_else(|| error_at(1, "expected a head such as seconds,cpu".to_owned()))?;
        let mut columns = head.split(',').map(|name| name.trim().to_owned());
        if columns.next().as_deref() != Some("seconds") {
            return Err(error_at(number, "expected the first column to be seconds".to_owned()));
        }
        let names: Vec<String> = columns.collect();
        if names.len() != metrics {
            let reason = format!("{} columns of load, and the HPA has {metrics} metrics", names.len());
            return Err(error_at(number, reason));
        }
        let mut rows: Vec<LoadPoint> = Vec::new();
        for (number, line) in lines {
            let row = row(line, metrics).map_err(|reason| error_at(number, reason))?;
            if rows.last().is_some_and(|last| last.seconds >= row.seconds) {
                return Err(error_at(
                    number,
                    format!("{} s is not after the line before", row.seconds),
                ));
            }
            rows.push(row);
        }
        if rows.is_empty() {
            return Err(error_at(number, "no load below the head".to_owned()));
        }
        Ok(Self { names, rows })
    }

    /// Returns the first second and the last.
    #[must_use]
    pub fn span(&self) -> (u32, u32) {
        let seconds = |row: Option<&LoadPoint>| row.map_or(0, |row| row.seconds);
        (seconds(self.rows.first()), seconds(self.rows.last()))
    }

    /// Returns the lowest and the highest load of each metric, in thousandths; `None` for one without any.
    #[must_use]
    pub fn ranges(&self) -> Vec<Option<(i64, i64)>> {
        let range = |metric: usize| {
            let loads = || {
                self.rows
                    .iter()
                    .filter_map(|row| row.loads.get(metric).copied().flatten())
            };
            Some((loads().min()?, loads().max()?))
        };
        (0..self.names.len()).map(range).collect()
    }

    /// Returns the load of each metric at a second, in thousandths.
    #[must_use]
    pub fn at(&self, seconds: u32) -> &[Option<i64>] {
        let after = self.rows.partition_point(|row| row.seconds <= seconds);
        self.rows.get(after.saturating_sub(1)).map_or(&[], |row| &row.loads)
    }
}

fn row(line: &str, metrics: usize) -> Result<LoadPoint, String> {
    let mut cells = line.split(',').map(str::trim);
    let first = cells.next().unwrap_or_default();
    let seconds = first
        .parse()
        .ok()
        .filter(|seconds| *seconds <= MAX_SECONDS)
        .ok_or_else(|| format!("seconds: {first:?} is not a whole number from 0 to {MAX_SECONDS}"))?;
    let loads: Vec<_> = cells.map(load).collect::<Result<_, _>>()?;
    if loads.len() != metrics {
        return Err(format!("{} loads where the head has {metrics}", loads.len()));
    }
    Ok(LoadPoint { seconds, loads })
}

/// Parses a load, in thousandths. An empty cell is a metric that fails.
fn load(cell: &str) -> Result<Option<i64>, String> {
    if cell.is_empty() {
        return Ok(None);
    }
    match cell.parse::<Quantity>() {
        Ok(load) if load.fits_milli() => Ok(Some(load.milli_value())),
        Ok(_) => Err(format!("{cell:?} is more than the controller's thousandths hold, 9.2P")),
        Err(error) => Err(format!("{cell:?}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Trace, TraceError};

    fn read(text: &str, metrics: usize) -> Result<Trace, TraceError> {
        Trace::read(text, &vec!["cpu".to_owned(); metrics])
    }

    #[test]
    fn an_answer_of_prometheus_is_recognized() {
        let answer =
            r#" {"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[7,"1.5"]]}]}}"#;
        let trace = read(answer, 1).unwrap();
        assert_eq!(
            (trace.names.as_slice(), trace.at(0)),
            (&["cpu".to_owned()][..], &[Some(1500)][..])
        );
        let error = read("{}", 1).unwrap_err().to_string();
        assert_eq!(error, ": Prometheus refused the query: it gives no reason");
    }

    #[test]
    fn a_load_holds_until_the_next_line() {
        let trace = read("# a day\nseconds, cpu, queue\n0, 1.5, 10\n60,, 1k\n", 2).unwrap();
        assert_eq!(trace.span(), (0, 60));
        assert_eq!(trace.at(59), [Some(1500), Some(10_000)]);
        assert_eq!(trace.at(60), [None, Some(1_000_000)]);
        assert_eq!(trace.ranges(), [Some((1500, 1500)), Some((10_000, 1_000_000))]);
    }

    #[test]
    fn a_byte_order_mark_and_windows_line_ends_are_accepted() {
        let trace = read("\u{feff}seconds,cpu\r\n0,1.5\r\n", 1).unwrap();
        assert_eq!(trace.at(0), [Some(1500)]);
    }

    #[test]
    fn an_error_names_its_line() {
        for (text, error) in [
            ("", "1: expected a head such as seconds,cpu"),
            ("time,cpu\n", "1: expected the first column to be seconds"),
            ("seconds,cpu,more\n", "1: 2 columns of load, and the HPA has 1 metrics"),
            ("seconds,cpu\n", "1: no load below the head"),
            (
                "seconds,cpu\n0,1E\n",
                "2: \"1E\" is more than the controller's thousandths hold, 9.2P",
            ),
            ("seconds,cpu\n\n0,5\n0,6\n", "4: 0 s is not after the line before"),
            (
                "seconds,cpu\n-1,5\n",
                "2: seconds: \"-1\" is not a whole number from 0 to 604800",
            ),
        ] {
            assert_eq!(read(text, 1).unwrap_err().to_string(), format!(":{error}"));
        }
        assert!(
            read("seconds,cpu\n0,much\n", 1)
                .unwrap_err()
                .to_string()
                .starts_with(":2: \"much\": ")
        );
    }
}
