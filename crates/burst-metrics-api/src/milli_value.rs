//! A value of a metric in thousandths, and its form as a Kubernetes quantity.

use burst_model::load::Load;
use burst_model::metric::{ReplicaMetric, RequestMetric};
use burst_model::request_rates::ServiceRate;
use burst_quantity::Quantity;
use std::fmt;

/// A value in thousandths, the finest unit of the HPA controller, which keeps them in a signed 64-bit integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MilliValue(i64);

impl MilliValue {
    /// Saturates, because a larger value would wrap around in the controller.
    fn new(milli: u64) -> Self {
        Self(i64::try_from(milli).unwrap_or(i64::MAX))
    }

    pub(crate) fn of_load(load: Load, metric: ReplicaMetric) -> Option<Self> {
        metric.milli(load).map(Self::new)
    }

    /// Returns `None` for a rate that is not counted.
    pub(crate) fn of_rate(rate: ServiceRate, metric: RequestMetric) -> Option<Self> {
        let milli = match metric {
            RequestMetric::Requests => Some(rate.requests_milli),
            RequestMetric::Rejected => Some(rate.rejected_milli),
            RequestMetric::InFlight => rate.in_flight_milli,
        };
        milli.map(Self::new)
    }
}

/// Writes the canonical form of a quantity.
impl fmt::Display for MilliValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("0"),
            whole if whole % 1_000_000 == 0 => Quantity::from_milli(whole).fmt(f),
            whole if whole % 1_000 == 0 => write!(f, "{}", whole / 1_000),
            milli => write!(f, "{milli}m"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn headroom_is_never_negative_and_utilization_may_exceed_one() {
        let load = Load {
            current: 6,
            target: 3,
            max: 4,
        };
        let value = |metric| MilliValue::of_load(load, metric).map(|value| value.to_string());
        assert_eq!(value(ReplicaMetric::Headroom).as_deref(), Some("0"));
        assert_eq!(value(ReplicaMetric::Utilization).as_deref(), Some("1500m"));
        let none = Load { max: 0, ..load };
        assert_eq!(MilliValue::of_load(none, ReplicaMetric::Utilization), None);
    }

    #[test]
    fn a_value_that_the_controller_cannot_represent_saturates() {
        let rate = ServiceRate {
            requests_milli: u64::MAX,
            in_flight_milli: Some(u64::MAX),
            ..ServiceRate::default()
        };
        for metric in [RequestMetric::Requests, RequestMetric::InFlight] {
            let written = MilliValue::of_rate(rate, metric).unwrap().to_string();
            assert_eq!(
                written.parse::<Quantity>().unwrap().milli_value(),
                i64::MAX,
                "{written}"
            );
        }
    }

    proptest! {
        #[test]
        fn values_are_written_as_canonical_quantities(milli in 0..i64::MAX, scale in 0u32..10) {
            let milli = milli / 10_i64.pow(scale) * 10_i64.pow(scale);
            prop_assert_eq!(MilliValue(milli).to_string(), Quantity::from_milli(milli).to_string());
        }
    }
}
