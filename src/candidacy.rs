//! The candidacy of a root context for the lease of a part of its configuration: takes part in the election, and does the
//! leader's work while it leads.

use crate::callouts;
use crate::host;
use crate::leader::LeaderTask;
use crate::log;
use crate::shared_data::{Election, View};
use crate::vm::{self, Candidate};
use burst_model::config::{Part, Role};
use burst_model::sync::election::ElectorState;
use burst_model::time::Time;
use burst_shared_data::CasConflict;
use std::rc::Rc;
use std::time::Duration;

pub(crate) struct Candidacy {
    root: u32,
    candidate: Candidate,
    view: Rc<View>,
    election: Election,
    leader: Option<LeaderTask>,
    /// The task of a term that is over. Its memory is released part by part.
    former_leader: Option<LeaderTask>,
}

impl Candidacy {
    /// The candidacy of a root context for the part that the view is of.
    pub(crate) fn new(root: u32, view: &Rc<View>) -> Self {
        let config = &view.config;
        let candidate = Candidate::new(config, root);
        if config.role == Role::Auto {
            candidate.add();
        }
        Self {
            root,
            candidate,
            election: Election::new(&view.keys, vm::ARTIFACT, config.keeps_labels()),
            view: view.clone(),
            leader: None,
            former_leader: None,
        }
    }

    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    /// The task of the leader, while this root context leads.
    pub(crate) fn leader(&self) -> Option<&LeaderTask> {
        self.leader.as_ref()
    }

    /// Called once a tick.
    pub(crate) fn tick(&mut self, now: Time) {
        let marks = self.view.quarantine.tick();
        self.election.set_pause(marks.leader_pause(now));
        if let Some(leader) = &mut self.leader {
            leader.observe_marks(&marks, now);
        }
        self.elect(now);
        self.work(now, |leader| leader.tick(now));
    }

    /// Does a part of the work that is left.
    pub(crate) fn advance(&mut self, now: Time) {
        self.work(now, |leader| leader.advance(now));
    }

    /// Releases a part of the memory of a term that is over.
    pub(crate) fn release(&mut self) {
        if !self.former_leader.as_mut().is_some_and(LeaderTask::release) {
            self.former_leader = None;
        }
    }

    /// Whether there is work left that waits for no response.
    pub(crate) fn is_busy(&self) -> bool {
        self.former_leader.is_some() || self.leader.as_ref().is_some_and(LeaderTask::is_busy)
    }

    /// When changes that the leader gathers are to be published; then [`Self::advance`] is called.
    pub(crate) fn next_due(&self) -> Option<Time> {
        self.leader.as_ref().and_then(LeaderTask::next_due)
    }

    /// Takes the snapshot that this VM has published since the last call.
    pub(crate) fn take_published(&mut self) -> Option<Vec<u8>> {
        self.leader.as_mut().and_then(LeaderTask::take_published)
    }

    /// Observes the lease, and begins, continues or ends a term.
    fn elect(&mut self, now: Time) {
        let state = ElectorState {
            has_served: vm::has_served(),
            // A VM that has just taken the lease is about to begin, so it is not idle.
            is_idle: self.leader.as_ref().is_some_and(|leader| leader.is_idle(now)),
            is_eligible: self.candidate.is_first(),
        };
        let Some(lease) = self.election.observe(state, &self.view.quarantine, now) else {
            return self.end_term();
        };
        if self.leader.is_none() {
            match self.view.config.part() {
                Part::Snapshot => {
                    log::info(format_args!(
                        "this thread polls {} from now on",
                        self.view.config.origin
                    ));
                    vm::stats().leader_changes.count();
                }
                Part::Metrics => log::info(format_args!(
                    "this thread reads the policies, the other adapters and the peers, and adds up the counted requests, from now on"
                )),
            }
            self.leader = LeaderTask::start(self.view.clone(), &lease, now).ok();
        }
    }

    /// Ends the term, and keeps what its task holds to release it later.
    fn end_term(&mut self) {
        if let Some(leader) = self.leader.take() {
            callouts::forget_leader(self.root, self.view.config.part());
            self.former_leader = Some(leader);
        }
    }

    /// Does some work as the leader, if this root context leads.
    pub(crate) fn work(&mut self, now: Time, work: impl FnOnce(&mut LeaderTask) -> Result<(), CasConflict>) {
        let Some(leader) = &mut self.leader else { return };
        let was_idle = leader.is_idle(now);
        let begin = host::nanoseconds();
        let is_deposed = leader.guarded(work).is_err();
        let cost = host::nanoseconds().saturating_sub(begin);
        leader.note_cost(Duration::from_nanos(u64::try_from(cost).unwrap_or(u64::MAX)));
        if is_deposed {
            self.end_term();
        } else if leader.is_idle(now) != was_idle {
            // The lease always says whether the leader is idle, because another VM takes over only from an idle leader.
            self.elect(now);
        }
    }

    /// Releases the lease, so that another VM leads after its next tick.
    pub(crate) fn resign(&mut self) {
        self.candidate.remove();
        self.view.quarantine.tick();
        self.election.resign();
        self.leader = None;
    }
}
