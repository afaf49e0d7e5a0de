//! How many requests per second are wanted at each moment, as a pure function of time.

use std::time::Duration;

use burst_lab::capacity::REQUESTS_PER_REPLICA;
use burst_lab::curve::Curve;

/// A demand that rises to a peak and falls again. It is given in replicas that it would keep busy all the time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    pub(super) lowest: f64,
    pub(super) highest: f64,
    pub(super) curve: Curve,
}

impl Demand {
    /// Requests per second at a time.
    pub(super) fn rate(&self, elapsed: Duration) -> f64 {
        // The square makes the peak shorter than the time between two peaks.
        let level = self.curve.level(elapsed).powi(2);
        (self.lowest + (self.highest - self.lowest) * level) * f64::from(REQUESTS_PER_REPLICA)
    }

    /// The time until the next request.
    pub(super) fn pause(&self, elapsed: Duration) -> Duration {
        Duration::from_secs_f64(1.0 / self.rate(elapsed).max(0.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_demand_moves_between_its_lowest_and_its_highest_rate() {
        let demand = Demand {
            lowest: 0.5,
            highest: 4.0,
            curve: Curve {
                min: 1,
                max: 5,
                start: 1,
                period: Duration::from_secs(60),
                rising: true,
            },
        };
        let rates = [0, 15, 30, 60].map(|second| demand.rate(Duration::from_secs(second)));
        for (rate, wanted) in rates.into_iter().zip([1.5, 4.125, 12.0, 1.5]) {
            assert!((rate - wanted).abs() < 0.001, "{rates:?}");
        }
        assert_eq!(demand.pause(Duration::from_secs(30)).as_millis(), 83);
    }
}
