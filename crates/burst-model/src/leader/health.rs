//! Whether a list can be read, and whether the log and the gauge show it.

use super::effect::Readable;
use crate::failure_state::FailureState;
use crate::kube::{PollOutcome, Verb};
use crate::records::ListFailure;
use crate::sync::reflector::FailurePause;
use crate::time::Time;

/// The health of one list.
#[derive(Debug, Default)]
pub(super) struct Health {
    /// The list failed since it was last read.
    pub(super) is_failing: bool,
    /// Since when it fails while other lists work.
    pub(super) failing_alone_since: Option<Time>,
    /// The snapshot may lack this list: the API server refuses it or does not know it, or it failed alone for so long
    /// that it was excluded.
    pub(super) is_unreadable: bool,
    /// The last failure in the log that is not followed by a success.
    reported: FailureState<(Verb, PollOutcome)>,
    /// The log says that the list is listed instead of being watched.
    fallback_reported: bool,
    /// The value of the gauge.
    gauge: Option<Readable>,
}

impl Health {
    /// The health as the last leader recorded it.
    pub(super) fn restored(failure: &ListFailure, is_unreadable: bool) -> Self {
        Self {
            is_failing: failure.reported_failure.is_some() || failure.pause.is_some(),
            failing_alone_since: failure.failing_alone_since,
            is_unreadable,
            reported: FailureState::new(failure.reported_failure),
            fallback_reported: failure.fallback_reported,
            gauge: None,
        }
    }

    /// The record for the next leader.
    pub(super) fn to_record(&self, pause: Option<FailurePause>) -> ListFailure {
        ListFailure {
            reported_failure: self.reported.failure().copied(),
            unreadable: self.is_unreadable,
            fallback_reported: self.fallback_reported,
            pause,
            failing_alone_since: self.failing_alone_since,
        }
    }

    /// Notes a successful read.
    pub(super) fn record_read(&mut self) {
        (self.is_failing, self.failing_alone_since) = (false, None);
    }

    /// Notes what the gauge shows. Returns whether it showed something else before.
    pub(super) fn update_gauge(&mut self, readable: Readable) -> bool {
        self.gauge.replace(readable) != Some(readable)
    }

    /// Notes a failure. Returns whether it differs from the last one that was reported.
    pub(super) fn report_failure(&mut self, verb: Verb, outcome: PollOutcome) -> bool {
        self.reported.update(Err((verb, outcome))).is_some()
    }

    /// Notes that the list is listed instead of being watched. Returns whether this was not reported before.
    pub(super) fn report_fallback(&mut self) -> bool {
        !std::mem::replace(&mut self.fallback_reported, true)
    }

    /// Notes that a request succeeded. Returns whether a failure of the same verb was reported before.
    pub(super) fn report_recovery(&mut self, verb: Verb) -> bool {
        self.fallback_reported &= verb != Verb::Watch;
        let is_of_verb = self.reported.failure().is_some_and(|(failed, _)| *failed == verb);
        is_of_verb && self.reported.update(Ok(())).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_reported_once_until_its_verb_succeeds() {
        let mut health = Health::default();
        assert!(health.report_failure(Verb::Watch, PollOutcome::Timeout));
        assert!(!health.report_failure(Verb::Watch, PollOutcome::Timeout));
        assert!(
            !health.report_recovery(Verb::List),
            "a list does not show that the watch works"
        );
        assert!(health.report_recovery(Verb::Watch) && !health.report_recovery(Verb::Watch));
    }
}
