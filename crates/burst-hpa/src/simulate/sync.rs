//! One sync of the controller, as in `reconcileAutoscaler`. See
//! <https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/horizontal.go>.

use super::combine;
use super::decide::decide;
use super::failure::MetricFailure;
use super::limits::longest_period;
use super::metric::Proposal;
use super::observation::{Observation, Scale};
use super::options::ControllerOptions;
use super::plan::Plan;
use super::report::{Decision, Outcome, Report};
use super::state::State;
use super::status::SimulatedStatus;
use super::sync_input::SyncInput;
use super::time::Time;
use crate::status::ConditionType;

/// Runs one sync, as the controller does every [`ControllerOptions::sync_period`].
///
/// `state` comes from the last sync, or is [`State::default`]. The caller sets the target to [`Report::replicas`] and passes
/// the returned state to the next sync.
#[must_use]
pub fn sync(plan: &Plan, seen: &Observation, options: &ControllerOptions, state: State, now: Time) -> (State, Report) {
    let mut sync = Sync {
        plan,
        seen,
        options,
        state,
        now,
    };
    let report = sync.run();
    (sync.state, report)
}

struct Sync<'a> {
    plan: &'a Plan,
    seen: &'a Observation,
    options: &'a ControllerOptions,
    state: State,
    now: Time,
}

/// How the sync determines the replicas.
enum Basis {
    /// The sync changes nothing, because the controller did not scale the target to zero itself.
    Unchanged,
    /// The sync applies the bounds of the spec, without the metrics.
    Bounds { desired: i32, reason: &'static str },
    /// The sync uses the metrics.
    Metrics,
}

type Proposals = Vec<Result<Proposal, MetricFailure>>;

impl Sync<'_> {
    fn run(&mut self) -> Report {
        let (seen, now) = (self.seen, self.now);
        let scale = match &seen.scale {
            Ok(scale) => scale,
            Err(error) => {
                self.status().scale_read(Some(error), now);
                return Report {
                    replicas: None,
                    outcome: Outcome::Unread,
                    proposals: Vec::new(),
                    decision: None,
                };
            }
        };
        self.status().scale_read(None, now);
        self.state.memory.recommendations.begin(scale.spec_replicas, now);
        match self.basis(scale.spec_replicas) {
            Basis::Unchanged => self.keep_disabled(),
            Basis::Bounds { desired, reason } => {
                self.rescale(scale.spec_replicas, desired, reason.to_owned(), Vec::new(), None)
            }
            Basis::Metrics => self.measure(scale),
        }
    }

    fn basis(&self, current: i32) -> Basis {
        let Plan {
            min_replicas: min,
            max_replicas: max,
            ..
        } = *self.plan;
        if current == 0 {
            let controller_scaled_to_zero = self.options.scale_to_zero && self.state.status.is_zeroed();
            let may_scale_up = controller_scaled_to_zero && (min != 0 || self.plan.measures_without_pods());
            if may_scale_up { Basis::Metrics } else { Basis::Unchanged }
        } else if current > max {
            Basis::Bounds {
                desired: max,
                reason: "Current number of replicas above Spec.MaxReplicas",
            }
        } else if current < min {
            Basis::Bounds {
                desired: min,
                reason: "Current number of replicas below Spec.MinReplicas",
            }
        } else {
            Basis::Metrics
        }
    }

    fn keep_disabled(&mut self) -> Report {
        let now = self.now;
        self.status().disabled(now);
        if !self.options.scale_to_zero {
            self.status().conditions.remove(&ConditionType::ScaledToZero);
        }
        self.status().measured(0, 0, &[]);
        Report {
            replicas: Some(0),
            outcome: Outcome::Disabled,
            proposals: Vec::new(),
            decision: None,
        }
    }

    fn measure(&mut self, scale: &Scale) -> Report {
        let (current, now) = (scale.spec_replicas, self.now);
        if self.status().unselected(&scale.selector, now) {
            return self.undecided(current, Vec::new());
        }
        let input = SyncInput {
            plan: self.plan,
            seen: self.seen,
            scale,
            options: self.options,
            now,
        };
        let metrics = self.plan.metrics.iter().enumerate();
        let proposals: Proposals = metrics.map(|(index, metric)| input.propose(index, metric)).collect();
        match combine::highest(&proposals, current) {
            Ok(highest) => {
                let decision = decide(self.plan, self.options, &mut self.state.memory, current, highest, now);
                self.status().decided(&decision, now);
                self.rescale(
                    current,
                    decision.desired,
                    decision.reason(current),
                    proposals,
                    Some(decision),
                )
            }
            Err(failure) => {
                if let Some(failure) = failure {
                    self.status().undecided(failure, now);
                }
                self.undecided(current, proposals)
            }
        }
    }

    fn undecided(&mut self, current: i32, proposals: Proposals) -> Report {
        let desired = self.state.status.desired_replicas;
        self.status().measured(current, desired, &proposals);
        Report {
            replicas: Some(current),
            outcome: Outcome::Undecided,
            proposals,
            decision: None,
        }
    }

    fn rescale(
        &mut self,
        from: i32,
        to: i32,
        reason: String,
        proposals: Proposals,
        decision: Option<Decision>,
    ) -> Report {
        let (seen, now) = (self.seen, self.now);
        let (desired, replicas, outcome) = if from == to {
            (to, to, Outcome::Kept)
        } else if let Err(error) = &seen.write {
            self.status().scale_written(Err(error), now);
            (self.state.status.desired_replicas, from, Outcome::Unwritten { to })
        } else {
            self.status().scale_written(Ok(to), now);
            self.remember(from, to);
            self.record_scaled_to_zero(from, to);
            (to, to, Outcome::Rescaled { from, to, reason })
        };
        self.status().measured(from, desired, &proposals);
        Report {
            replicas: Some(replicas),
            outcome,
            proposals,
            decision,
        }
    }

    /// Records a change for the policies, which count the changes in their period. Without `behavior` there are no policies.
    fn remember(&mut self, from: i32, to: i32) {
        let Some(behavior) = &self.plan.behavior else { return };
        let memory = &mut self.state.memory;
        let (changes, rules) = match to > from {
            true => (&mut memory.added, &behavior.scale_up),
            false => (&mut memory.removed, &behavior.scale_down),
        };
        changes.add(
            to.wrapping_sub(from).wrapping_abs(),
            self.now,
            self.now - longest_period(rules),
        );
    }

    /// Records whether this controller scaled the target to zero. Only then may it scale the target up again.
    fn record_scaled_to_zero(&mut self, from: i32, to: i32) {
        let now = self.now;
        if self.options.scale_to_zero {
            let allowed = self.plan.min_replicas == 0 && self.plan.measures_without_pods();
            self.status().zeroed(from > 0 && to == 0 && allowed, now);
        } else {
            self.status().conditions.remove(&ConditionType::ScaledToZero);
        }
    }

    fn status(&mut self) -> &mut SimulatedStatus {
        &mut self.state.status
    }
}
