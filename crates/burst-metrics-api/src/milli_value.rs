//! Values in thousandths, and how they are written.

use super::catalog;
use burst_model::load::Load;
use burst_model::rates::Rate;
use burst_quantity::Quantity;
use std::fmt;

/// Thousandths, the finest unit that the HPA controller reckons in. It has 63 bits for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MilliValue(i64);

impl MilliValue {
    /// What does not fit is the most that does: more would wrap around in the controller.
    fn new(milli: u64) -> Self {
        Self(i64::try_from(milli).unwrap_or(i64::MAX))
    }

    pub(super) fn of_load(load: Load, what: catalog::ReplicaMetric) -> Option<Self> {
        let replicas = |count: u32| Some(u64::from(count) * 1000);
        let milli = match what {
            catalog::ReplicaMetric::Current => replicas(load.current),
            catalog::ReplicaMetric::Max => replicas(load.max),
            catalog::ReplicaMetric::Target => replicas(load.target),
            catalog::ReplicaMetric::Headroom => replicas(load.max.saturating_sub(load.current)),
            catalog::ReplicaMetric::Utilization => (u64::from(load.current) * 1000).checked_div(load.max.into()),
        };
        milli.map(Self::new)
    }

    /// `None` for what is not counted.
    pub(super) fn of_rate(rate: Rate, what: catalog::RequestMetric) -> Option<Self> {
        let milli = match what {
            catalog::RequestMetric::Requests => Some(rate.requests_milli),
            catalog::RequestMetric::Rejected => Some(rate.rejected_milli),
            catalog::RequestMetric::InFlight => rate.in_flight_milli,
        };
        milli.map(Self::new)
    }
}

/// The canonical form of a quantity.
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
    fn headroom_never_falls_below_nothing_and_utilization_may_rise_above_all() {
        let load = Load {
            current: 6,
            target: 3,
            max: 4,
        };
        let value = |what| MilliValue::of_load(load, what).map(|value| value.to_string());
        assert_eq!(value(catalog::ReplicaMetric::Headroom).as_deref(), Some("0"));
        assert_eq!(value(catalog::ReplicaMetric::Utilization).as_deref(), Some("1500m"));
        let none = Load { max: 0, ..load };
        assert_eq!(MilliValue::of_load(none, catalog::ReplicaMetric::Utilization), None);
    }

    #[test]
    fn what_the_controller_cannot_reckon_with_is_cut_to_what_it_can() {
        let rate = Rate {
            requests_milli: u64::MAX,
            in_flight_milli: Some(u64::MAX),
            ..Rate::default()
        };
        for what in [catalog::RequestMetric::Requests, catalog::RequestMetric::InFlight] {
            let written = MilliValue::of_rate(rate, what).unwrap().to_string();
            assert_eq!(
                written.parse::<Quantity>().unwrap().milli_value(),
                i64::MAX,
                "{written}"
            );
        }
    }

    proptest! {
        #[test]
        fn values_are_written_canonically(milli in 0..i64::MAX, scale in 0u32..10) {
            let milli = milli / 10_i64.pow(scale) * 10_i64.pow(scale);
            prop_assert_eq!(MilliValue(milli).to_string(), Quantity::from_milli(milli).to_string());
        }
    }
}
