//! A trace from the answer of Prometheus to a range query.
//! <https://prometheus.io/docs/prometheus/latest/querying/api/#range-queries>

use serde::Deserialize;

use super::{LoadPoint, MAX_SECONDS};

/// Why an answer is not a trace.
#[derive(Debug, thiserror::Error)]
pub enum PrometheusError {
    /// Not the answer of a range query.
    #[error("not the JSON of Prometheus' query_range: {0}")]
    Json(#[from] serde_json::Error),
    /// Prometheus refused the query.
    #[error("Prometheus refused the query: {0}")]
    Refused(String),
    /// The answer of `query`.
    #[error("the answer is a {0}, not a matrix; ask /api/v1/query_range instead of /api/v1/query")]
    Type(String),
    /// More or less than one series.
    #[error("{0} series, and one is needed: sum(…) makes one of many, and no series means that nothing matched")]
    Series(usize),
    /// An HPA with several metrics.
    #[error("one series, and the HPA has {0} metrics; write a CSV with a column for each")]
    Metrics(usize),
    /// A value that is not a number.
    #[error("at {time}: {value:?} is not a load")]
    Value {
        /// The Unix time.
        time: f64,
        /// The text of the value.
        value: String,
    },
    /// Unix times that do not grow, or too long a time.
    #[error("at {0}: the times have to grow, and to be within {MAX_SECONDS} s")]
    Time(f64),
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    data: Option<Data>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data {
    result_type: String,
}

#[derive(Deserialize)]
struct Matrix {
    data: MatrixData,
}

#[derive(Deserialize)]
struct MatrixData {
    result: Vec<Series>,
}

#[derive(Deserialize)]
struct Series {
    values: Vec<(f64, String)>,
}

/// Reads the only series of an answer. Its first value is at second 0.
///
/// # Errors
/// The text is another answer, or not one.
pub(super) fn points(text: &str, metrics: usize) -> Result<Vec<LoadPoint>, PrometheusError> {
    let answer: Answer = serde_json::from_str(text)?;
    let Some(data) = answer.data else {
        return Err(PrometheusError::Refused(
            answer.error.unwrap_or_else(|| "it gives no reason".to_owned()),
        ));
    };
    if data.result_type != "matrix" {
        return Err(PrometheusError::Type(data.result_type));
    }
    let matrix: Matrix = serde_json::from_str(text)?;
    let values = match matrix.data.result.as_slice() {
        [series] => &series.values,
        other => return Err(PrometheusError::Series(other.len())),
    };
    if metrics != 1 {
        return Err(PrometheusError::Metrics(metrics));
    }
    let first = values.first().map_or(0.0, |(time, _)| *time);
    let mut points: Vec<LoadPoint> = Vec::with_capacity(values.len());
    for (time, value) in values {
        let seconds = seconds(*time - first).ok_or(PrometheusError::Time(*time))?;
        if points.last().is_some_and(|last| last.seconds >= seconds) {
            return Err(PrometheusError::Time(*time));
        }
        let load = load(value).ok_or_else(|| PrometheusError::Value {
            time: *time,
            value: value.clone(),
        })?;
        points.push(LoadPoint {
            seconds,
            loads: vec![load],
        });
    }
    if points.is_empty() {
        return Err(PrometheusError::Series(0));
    }
    Ok(with_gaps(points))
}

/// Adds a point without a value where Prometheus left points out, because it had no samples.
fn with_gaps(points: Vec<LoadPoint>) -> Vec<LoadPoint> {
    let distances = points
        .iter()
        .zip(points.iter().skip(1))
        .map(|(one, next)| next.seconds - one.seconds);
    let Some(step) = distances.min() else { return points };
    let mut filled: Vec<LoadPoint> = Vec::with_capacity(points.len());
    for point in points {
        if let Some(gap) = filled.last().map(|last| last.seconds + step)
            && gap < point.seconds
        {
            filled.push(LoadPoint {
                seconds: gap,
                loads: vec![None],
            });
        }
        filled.push(point);
    }
    filled
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked first"
)]
fn seconds(since: f64) -> Option<u32> {
    let rounded = since.round();
    (0.0..=f64::from(MAX_SECONDS))
        .contains(&rounded)
        .then_some(rounded as u32)
}

/// A value in thousandths; `NaN` and infinities, which a division by zero yields, are no value.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "the range is checked first"
)]
fn load(value: &str) -> Option<Option<i64>> {
    let number: f64 = value.parse().ok()?;
    let milli = (number * 1000.0).round();
    if !number.is_finite() {
        return Some(None);
    }
    (milli.abs() < i64::MAX as f64).then_some(Some(milli as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(values: &str) -> String {
        format!(
            r#"{{"status":"success","data":{{"resultType":"matrix","result":[{{"metric":{{"job":"web"}},"values":[{values}]}}]}}}}"#
        )
    }

    fn read(values: &str) -> Result<Vec<(u32, Option<i64>)>, String> {
        let points = points(&answer(values), 1).map_err(|error| error.to_string())?;
        Ok(points.iter().map(|point| (point.seconds, point.loads[0])).collect())
    }

    #[test]
    fn the_times_begin_at_zero() {
        let read = read(r#"[1435781430.781,"20"],[1435781445.781,"95.3333"],[1435781460.781,"1e-1"]"#);
        assert_eq!(read, Ok(vec![(0, Some(20_000)), (15, Some(95_333)), (30, Some(100))]));
    }

    #[test]
    fn a_gap_and_a_division_by_zero_are_no_value() {
        let read = read(r#"[100,"1"],[115,"2"],[160,"NaN"],[175,"+Inf"]"#);
        assert_eq!(
            read,
            Ok(vec![
                (0, Some(1000)),
                (15, Some(2000)),
                (30, None),
                (60, None),
                (75, None)
            ])
        );
    }

    #[test]
    fn what_is_no_range_is_refused_in_words() {
        for (text, expected) in [
            (
                r#"{"status":"error","errorType":"bad_data","error":"parse error at char 4"}"#,
                "Prometheus refused the query: parse error at char 4",
            ),
            (
                r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"2"]}]}}"#,
                "the answer is a vector, not a matrix; ask /api/v1/query_range instead of /api/v1/query",
            ),
            (
                r#"{"status":"success","data":{"resultType":"matrix","result":[]}}"#,
                "0 series, and one is needed: sum(…) makes one of many, and no series means that nothing matched",
            ),
            (
                &answer(r#"[5,"1"],[5,"2"]"#),
                "at 5: the times have to grow, and to be within 604800 s",
            ),
            (&answer(r#"[5,"much"]"#), "at 5: \"much\" is not a load"),
        ] {
            assert_eq!(points(text, 1).unwrap_err().to_string(), expected);
        }
        let error = points("{", 1).unwrap_err().to_string();
        assert!(
            error.starts_with("not the JSON of Prometheus' query_range: EOF"),
            "{error}"
        );
        let error = points(&answer(r#"[5,"1"]"#), 2).unwrap_err().to_string();
        assert_eq!(
            error,
            "one series, and the HPA has 2 metrics; write a CSV with a column for each"
        );
    }
}
