//! How the client that reads `x-burst` divides its work between two services. It knows nothing but the header.

use crate::run::header::{Load, LoadState};

/// The percentage of the work that moves away in a second while the first service is at its target, and while it is full. All
/// at once, it would be more than the replicas at the other place can answer.
const LEAVE_TARGET: u8 = 15;
const LEAVE_FULL: u8 = 30;
/// The percentage that returns in a second. It is small, so that the service does not become full again at once.
const RETURN: u8 = 10;
const ALL: u8 = 100;
/// The share of the usual rate at which it sends while both services are full.
const BACKED_OFF: f64 = 0.5;

/// One of the two services of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Where the work goes as long as there is room.
    Home,
    /// The same service at another place.
    Elsewhere,
}

/// The state of the client.
#[derive(Debug, Default)]
pub(super) struct Steering {
    /// The newest header of each service; `None` if the newest response had none, which means "not known".
    home: Option<Load>,
    elsewhere: Option<Load>,
    /// The percentage of the work that goes elsewhere.
    share: u8,
    /// The percentages of a request that the other service has not received yet.
    owed: u8,
}

impl Steering {
    /// Notes the header of a response.
    pub(super) fn observe(&mut self, place: Place, load: Option<Load>) {
        match place {
            Place::Home => self.home = load,
            Place::Elsewhere => self.elsewhere = load,
        }
    }

    /// Moves work; called once a second.
    pub(super) fn step(&mut self) {
        self.share = match (state(self.home), state(self.elsewhere)) {
            (LoadState::Full, LoadState::Full) => self.share,
            (LoadState::Full, _) => self.share.saturating_add(LEAVE_FULL).min(ALL),
            (LoadState::AtTarget, LoadState::HasRoom | LoadState::AtTarget) => {
                self.share.saturating_add(LEAVE_TARGET).min(ALL)
            }
            (LoadState::AtTarget, LoadState::Full) | (LoadState::HasRoom, _) => self.share.saturating_sub(RETURN),
        };
    }

    /// The share of its usual rate at which the client sends.
    pub(super) fn rate(&self) -> f64 {
        match (state(self.home), state(self.elsewhere)) {
            (LoadState::Full, LoadState::Full) => BACKED_OFF,
            _ => 1.0,
        }
    }

    /// Where the next request goes.
    pub(super) fn next(&mut self) -> Place {
        self.owed += self.share;
        if self.owed >= ALL {
            self.owed -= ALL;
            Place::Elsewhere
        } else {
            Place::Home
        }
    }
}

/// A service that is not known is treated as if the filter was not there.
fn state(load: Option<Load>) -> LoadState {
    load.map_or(LoadState::HasRoom, Load::state)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(current: u32) -> Option<Load> {
        Some(Load {
            current,
            target: 4,
            max: 5,
        })
    }

    /// Observes both services once a second, and returns how many of ten requests go elsewhere after each.
    fn seconds(steering: &mut Steering, loads: &[(u32, u32)]) -> Vec<usize> {
        let second = |&(home, elsewhere)| {
            steering.observe(Place::Home, load(home));
            steering.observe(Place::Elsewhere, load(elsewhere));
            steering.step();
            (0..20).filter(|_| steering.next() == Place::Elsewhere).count() / 2
        };
        loads.iter().map(second).collect()
    }

    #[test]
    fn without_a_header_all_work_stays() {
        let mut steering = Steering::default();
        steering.step();
        assert!((0..20).all(|_| steering.next() == Place::Home));
    }

    #[test]
    fn at_the_target_work_moves_away_in_steps_and_at_the_maximum_in_larger_ones() {
        let moved = seconds(&mut Steering::default(), &[(3, 1), (4, 1), (4, 1), (5, 1)]);
        assert_eq!(moved, [0, 1, 3, 6]);
    }

    #[test]
    fn work_returns_slowly_once_there_is_room() {
        let mut steering = Steering::default();
        assert_eq!(seconds(&mut steering, &[(5, 1); 4]), [3, 6, 9, 10]);
        let moved = seconds(&mut steering, &[(3, 1), (3, 1), (4, 1), (3, 1)]);
        assert_eq!(moved, [9, 8, 9, 8]);
    }

    #[test]
    fn no_work_moves_to_a_full_service() {
        let moved = seconds(&mut Steering::default(), &[(4, 5), (5, 5), (4, 1), (4, 5)]);
        assert_eq!(moved, [0, 0, 1, 0]);
    }

    #[test]
    fn it_backs_off_while_both_services_are_full() {
        let mut steering = Steering::default();
        let mut rate = |home, elsewhere| {
            seconds(&mut steering, &[(home, elsewhere)]);
            steering.rate()
        };
        let rates = [rate(5, 4), rate(5, 5), rate(4, 5)];
        assert!(
            rates
                .iter()
                .zip([1.0, 0.5, 1.0])
                .all(|(rate, wanted)| (rate - wanted).abs() < f64::EPSILON),
            "{rates:?}"
        );
    }
}
