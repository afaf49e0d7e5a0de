//! Proposals from metrics with one value for all pods: Object and External.

use super::failure::MetricError;
use super::int::{int32, int64};
use super::observation::Pod;
use super::tolerance::Tolerance;

/// Returns the replicas for a `value` target.
pub(super) fn by_value(
    usage: i64,
    target: i64,
    current: i32,
    pods: &[Pod],
    tolerance: Tolerance,
) -> Result<i32, MetricError> {
    let ratio = usage as f64 / target as f64;
    if current == 0 {
        return Ok(int32(ratio.ceil()));
    }
    if tolerance.covers(ratio) {
        return Ok(current);
    }
    if pods.is_empty() {
        return Err(MetricError::NoPodsToCount);
    }
    let serving = pods.iter().filter(|pod| pod.serves()).count();
    Ok(capped(ratio * serving as f64))
}

/// Rounds up, to at most the largest integer. NaN becomes 0 replicas.
pub(super) fn capped(replicas: f64) -> i32 {
    if replicas > f64::from(i32::MAX) {
        i32::MAX
    } else {
        int32(replicas.ceil())
    }
}

/// Returns the replicas for an `averageValue` target. `replicas` comes from the scale's status.
pub(super) fn by_share(usage: i64, target: i64, replicas: i32, tolerance: Tolerance) -> f64 {
    let ratio = usage as f64 / (target as f64 * f64::from(replicas));
    if tolerance.covers(ratio) {
        f64::from(replicas)
    } else {
        (usage as f64 / target as f64).ceil()
    }
}

/// Returns the average `usage` per replica, rounded up.
pub(super) fn share(usage: i64, replicas: i32) -> i64 {
    int64((usage as f64 / f64::from(replicas)).ceil())
}

/// Returns the saturating sum of the series of an External metric for a `value` target.
pub(super) fn sum(series: &[i64]) -> i64 {
    let mut sum = 0i64;
    for value in series {
        if *value > 0 && sum > i64::MAX - value {
            return i64::MAX;
        }
        sum = sum.wrapping_add(*value);
    }
    sum
}

/// Returns the sum for an `averageValue` target. Here the controller treats a negative sum as an overflow.
pub(super) fn sum_of_shares(series: &[i64]) -> i64 {
    let mut sum = 0i64;
    for value in series {
        sum = sum.wrapping_add(*value);
        if sum < 0 {
            return i64::MAX;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::super::observation::{Phase, Ready};
    use super::super::requests::Requests;
    use super::super::time::Time;
    use super::*;

    const TENTH: Tolerance = Tolerance { down: 0.1, up: 0.1 };

    fn pods(ready: usize, unready: usize) -> Vec<Pod> {
        let pod = |status| Pod {
            name: String::new(),
            phase: Phase::Running,
            ready: Some(Ready {
                status: Some(status),
                since: Time::default(),
            }),
            started: None,
            deleted: false,
            requests: Requests::default(),
        };
        (0..ready)
            .map(|_| pod(true))
            .chain((0..unready).map(|_| pod(false)))
            .collect()
    }

    #[test]
    fn a_value_scales_the_pods_that_serve() {
        assert_eq!(by_value(300, 100, 4, &pods(2, 2), TENTH), Ok(6));
        assert_eq!(by_value(109, 100, 4, &[], TENTH), Ok(4));
        assert_eq!(by_value(111, 100, 4, &[], TENTH), Err(MetricError::NoPodsToCount));
    }

    #[test]
    fn from_zero_a_value_counts_its_targets() {
        assert_eq!(by_value(101, 100, 0, &[], TENTH), Ok(2));
        assert_eq!(by_value(0, 100, 0, &[], TENTH), Ok(0));
    }

    #[test]
    fn an_average_divides_by_the_current_pods() {
        assert_eq!(by_share(330, 100, 3, TENTH), 3.0);
        assert_eq!(by_share(331, 100, 3, TENTH), 4.0);
        assert_eq!(by_share(0, 100, 0, TENTH), 0.0);
        assert_eq!(share(331, 3), 111);
        assert_eq!(capped(by_share(i64::MAX, 1, 3, TENTH)), i32::MAX);
        assert_eq!(
            capped(by_share(0, 0, 3, TENTH)),
            i32::MIN,
            "a target of 1E is 0 in thousandths"
        );
    }

    #[test]
    fn sums_saturate() {
        assert_eq!(sum(&[i64::MAX, 1]), i64::MAX);
        assert_eq!(sum(&[5, -7]), -2);
        assert_eq!(sum_of_shares(&[i64::MAX, 1]), i64::MAX);
        assert_eq!(sum_of_shares(&[5, -7]), i64::MAX);
    }
}
