//! One log line for a change of state, and not one for each failure.

/// The failure that was reported last.
#[derive(Debug)]
pub struct FailureState<F>(Option<F>);

/// A change that is worth a log line.
#[derive(Debug, PartialEq, Eq)]
pub enum StateChange<'a, F> {
    /// It fails now, or fails for another reason than before.
    Failed(&'a F),
    /// It works again.
    Recovered,
}

impl<F> Default for FailureState<F> {
    fn default() -> Self {
        Self(None)
    }
}

impl<F: PartialEq> FailureState<F> {
    /// The state after `failure` was reported, or after nothing was.
    pub fn new(failure: Option<F>) -> Self {
        Self(failure)
    }

    /// The failure that lasts, if there is one.
    pub fn failure(&self) -> Option<&F> {
        self.0.as_ref()
    }

    /// Notes an outcome. `None` if it is the same as before.
    pub fn update(&mut self, outcome: Result<(), F>) -> Option<StateChange<'_, F>> {
        let failure = outcome.err();
        if failure == self.0 {
            return None;
        }
        self.0 = failure;
        Some(self.0.as_ref().map_or(StateChange::Recovered, StateChange::Failed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_a_change_once_and_its_end_is_another() {
        let mut state = FailureState::default();
        assert_eq!(state.update(Ok(())), None, "it has worked all along");
        assert_eq!(state.update(Err("timeout")), Some(StateChange::Failed(&"timeout")));
        assert_eq!(state.update(Err("timeout")), None);
        assert_eq!(state.update(Err("refused")), Some(StateChange::Failed(&"refused")));
        assert_eq!(state.update(Ok(())), Some(StateChange::Recovered));
        assert_eq!(state.update(Ok(())), None);
    }
}
