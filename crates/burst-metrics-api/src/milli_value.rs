//! Values in thousandths, and how they are written.

use super::catalog;
use burst_model::load::Load;
use burst_model::rates::Rate;
use burst_quantity::Quantity;
use std::fmt;

/// Thousandths, the finest unit that the HPA controller reckons in. It has 63 bits for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Milli(i64);

impl Milli {
    /// What does not fit is the most that does: more would wrap around in the controller.
    fn new(milli: u64) -> Self {
        Self(i64::try_from(milli).unwrap_or(i64::MAX))
    }

    pub(super) fn of_load(load: Load, what: catalog::Load) -> Option<Self> {
        let replicas = |count: u32| Some(u64::from(count) * 1000);
        let milli = match what {
            catalog::Load::Current => replicas(load.current),
            catalog::Load::Max => replicas(load.max),
            catalog::Load::Target => replicas(load.target),
            catalog::Load::Headroom => replicas(load.max.saturating_sub(load.current)),
            catalog::Load::Utilization => (u64::from(load.current) * 1000).checked_div(load.max.into()),
        };
        milli.map(Self::new)
    }

    /// `None` for what is not counted.
    pub(super) fn of_rate(rate: Rate, what: catalog::Rate) -> Option<Self> {
        let milli = match what {
            catalog::Rate::Requests => Some(rate.requests_milli),
            catalog::Rate::Rejected => Some(rate.rejected_milli),
            catalog::Rate::InFlight => rate.in_flight_milli,
        };
        milli.map(Self::new)
    }
}

/// The canonical form of a quantity.
impl fmt::Display for Milli {
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
        let value = |what| Milli::of_load(load, what).map(|value| value.to_string());
        assert_eq!(value(catalog::Load::Headroom).as_deref(), Some("0"));
        assert_eq!(value(catalog::Load::Utilization).as_deref(), Some("1500m"));
        let none = Load { max: 0, ..load };
        assert_eq!(Milli::of_load(none, catalog::Load::Utilization), None);
    }

    #[test]
    fn what_the_controller_cannot_reckon_with_is_cut_to_what_it_can() {
        let rate = Rate {
            requests_milli: u64::MAX,
            in_flight_milli: Some(u64::MAX),
            ..Rate::default()
        };
        for what in [catalog::Rate::Requests, catalog::Rate::InFlight] {
            let written = Milli::of_rate(rate, what).unwrap().to_string();
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
            prop_assert_eq!(Milli(milli).to_string(), Quantity::from_milli(milli).to_string());
        }
    }
}
