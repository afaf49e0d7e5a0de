//! Compares the samples of pods with a target.

use std::collections::BTreeMap;

use super::plan::ResourceTargetValue;

/// The values of the pods that count, by pod name.
pub(super) type Values<'a> = BTreeMap<&'a str, i64>;

/// The target of the samples.
#[derive(Debug)]
pub(super) enum UsageTarget<'a> {
    /// A percentage of the requests of the pods.
    Utilization { target: i32, requests: Values<'a> },
    /// An amount for each pod.
    Average { target: i64 },
}

/// The samples relative to their target. The average is in thousandths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct UsageRatio {
    /// Usage divided by target.
    pub(super) ratio: f64,
    /// The utilization in percent, for a utilization target.
    pub(super) utilization: Option<i32>,
    /// The usage of the average pod.
    pub(super) average: i64,
}

impl<'a> UsageTarget<'a> {
    pub(super) fn new(target: ResourceTargetValue, requests: Values<'a>) -> Self {
        match target {
            ResourceTargetValue::Utilization(target) => Self::Utilization { target, requests },
            ResourceTargetValue::AverageValue(target) => Self::Average { target },
        }
    }

    /// Returns None if there are no values. A utilization target also needs a pod with a value and a request above zero.
    pub(super) fn read(&self, values: &Values<'_>) -> Option<UsageRatio> {
        match self {
            Self::Utilization { target, requests } => utilization(values, requests, *target),
            Self::Average { target } => average(values, *target),
        }
    }

    /// Returns the assumed usage of a pod without a sample if the other pods are below their target. It is at least the
    /// target, so that this pod does not cause a scale-down.
    pub(super) fn full(&self, pod: &str) -> i64 {
        match self {
            Self::Utilization { target, requests } => {
                let request = requests.get(pod).copied().unwrap_or_default();
                request.wrapping_mul(i64::from(*target).max(100)).wrapping_div(100)
            }
            Self::Average { target } => *target,
        }
    }
}

// Both divisions truncate, to whole percent and whole thousandths, before the ratio is computed.
#[expect(clippy::cast_possible_truncation, reason = "Go's int32() keeps the low bits too")]
fn utilization(values: &Values<'_>, requests: &Values<'_>, target: i32) -> Option<UsageRatio> {
    let known = || {
        values
            .iter()
            .filter_map(|(pod, value)| Some((*value, *requests.get(pod)?)))
    };
    let used = known().fold(0i64, |sum, (value, _)| sum.wrapping_add(value));
    let requested = known().fold(0i64, |sum, (_, request)| sum.wrapping_add(request));
    if requested == 0 {
        return None;
    }
    let percent = used.wrapping_mul(100).wrapping_div(requested) as i32;
    Some(UsageRatio {
        ratio: f64::from(percent) / f64::from(target),
        utilization: Some(percent),
        average: used.checked_div(count(known().count()))?,
    })
}

fn average(values: &Values<'_>, target: i64) -> Option<UsageRatio> {
    let used = values.values().fold(0i64, |sum, value| sum.wrapping_add(*value));
    let average = used.checked_div(count(values.len()))?;
    Some(UsageRatio {
        ratio: average as f64 / target as f64,
        utilization: None,
        average,
    })
}

fn count(pods: usize) -> i64 {
    i64::try_from(pods).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utilization_is_a_whole_percentage_of_all_requests_together() {
        let requests = Values::from([("a", 300), ("b", 300), ("c", 1000)]);
        let gauge = UsageTarget::new(ResourceTargetValue::Utilization(50), requests);
        let measure = gauge.read(&Values::from([("a", 100), ("b", 101), ("stranger", 900)]));
        assert_eq!(
            measure,
            Some(UsageRatio {
                ratio: 33.0 / 50.0,
                utilization: Some(33),
                average: 100
            })
        );
        assert_eq!(gauge.read(&Values::from([("stranger", 900)])), None);
    }

    #[test]
    fn an_average_counts_every_value_and_drops_the_rest() {
        let gauge = UsageTarget::new(ResourceTargetValue::AverageValue(100), Values::new());
        let measure = gauge.read(&Values::from([("a", 100), ("stranger", 99)]));
        assert_eq!(
            measure,
            Some(UsageRatio {
                ratio: 0.99,
                utilization: None,
                average: 99
            })
        );
        assert_eq!(gauge.read(&Values::new()), None);
    }

    #[test]
    fn a_missing_pod_is_full_at_its_request_or_at_a_higher_target() {
        let requests = Values::from([("a", 300)]);
        assert_eq!(
            UsageTarget::new(ResourceTargetValue::Utilization(50), requests.clone()).full("a"),
            300
        );
        assert_eq!(
            UsageTarget::new(ResourceTargetValue::Utilization(150), requests).full("a"),
            450
        );
        assert_eq!(
            UsageTarget::new(ResourceTargetValue::AverageValue(70), Values::new()).full("a"),
            70
        );
    }
}
