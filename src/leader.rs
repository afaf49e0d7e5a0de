//! The task of a root context while it leads a part of its configuration: carries out what the parts of the leader ask for, and
//! passes them the answers to their callouts.

use crate::callouts::{self, Callout, CalloutEvent, LeaderPurpose, Purpose};
use crate::metrics_apis::AdapterDiscoveryTask;
use crate::peers::PeersTask;
use crate::requests::RequestAggregator;
use crate::shared_data::{ClusterLeader, OtherLeaders, Term, View};
use crate::upstream_streams::StreamCallout;
use crate::{log, vm};
use burst_model::cluster_reader::ReadRequest;
use burst_model::config::Part;
use burst_model::leader::Effect;
use burst_model::quarantine::Marks;
use burst_model::sync::election::Lease;
use burst_model::time::Time;
use burst_shared_data::{CasConflict, HostEffect};
use std::rc::Rc;
use std::time::Duration;

/// The time between two checks of the keys in shared data. A check copies the snapshot once.
const KEY_CHECK_PERIOD: Duration = Duration::from_secs(10);

pub(crate) struct LeaderTask {
    view: Rc<View>,
    cluster: ClusterLeader,
    /// If this is the part of the metrics APIs, and requests are counted.
    aggregator: Option<RequestAggregator>,
    /// If this is that part, and there are other adapters.
    discovery: Option<AdapterDiscoveryTask>,
    others: OtherLeaders,
    /// If this is that part, and there are peers.
    peers: Option<PeersTask>,
    /// When it last checked its keys in shared data.
    keys_checked: Time,
}

impl LeaderTask {
    /// Begins a term with what the last leader left. `lease` is the record that this VM has just written.
    pub(crate) fn start(view: Rc<View>, lease: &Lease, now: Time) -> Result<Self, CasConflict> {
        let term = Rc::new(Term::new(&view.keys.lease, lease.holder));
        let cluster = ClusterLeader::start(view.clone(), &term, now)?;
        let (aggregator, discovery, peers) = match view.config.part() {
            Part::Snapshot => (None, None, None),
            Part::Metrics => (
                RequestAggregator::start(&view.config, &term)?,
                AdapterDiscoveryTask::start(&view, &term)?,
                PeersTask::start(&view, &term, now)?,
            ),
        };
        cluster.guard().end_work();
        Ok(Self {
            view,
            cluster,
            aggregator,
            discovery,
            others: OtherLeaders::default(),
            peers,
            keys_checked: now,
        })
    }

    /// Does some work under the leader's mark. A leader that was deposed leaves the mark of its successor in place.
    pub(crate) fn guarded(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), CasConflict>,
    ) -> Result<(), CasConflict> {
        self.cluster.guard().begin_work();
        work(self)?;
        self.cluster.guard().end_work();
        Ok(())
    }

    /// Takes over the marks of all VMs.
    pub(crate) fn observe_marks(&mut self, marks: &Marks, now: Time) {
        let has_changed = self.cluster.observe_marks(marks, now);
        if let Some(peers) = self.peers.as_mut().filter(|_| has_changed) {
            peers.requeue_skipped();
        }
    }

    /// Whether no request is under way or due, so that another VM may take over.
    pub(crate) fn is_idle(&self, now: Time) -> bool {
        self.cluster.is_idle(now)
    }

    /// Whether there is work left that waits for no response.
    pub(crate) fn is_busy(&self) -> bool {
        self.cluster.is_busy()
    }

    /// When changes that it gathers are to be published; then [`Self::advance`] is called.
    pub(crate) fn next_due(&self) -> Option<Time> {
        self.cluster.next_due()
    }

    /// Notes how long a callback of the leader took.
    pub(crate) fn note_cost(&mut self, cost: Duration) {
        self.cluster.note_cost(cost);
    }

    /// Called once a tick.
    pub(crate) fn tick(&mut self, now: Time) -> Result<(), CasConflict> {
        self.check_keys(now)?;
        let effects = self.cluster.tick(now);
        self.apply(effects)?;
        self.cluster.collect_garbage(now);
        self.find_others(now);
        if let Some(aggregator) = &mut self.aggregator {
            aggregator.tick(now, self.cluster.guard())?;
        }
        if let Some(discovery) = &mut self.discovery {
            discovery.tick(now);
        }
        self.peers.as_mut().map_or(Ok(()), |peers| peers.tick(now))
    }

    /// Looks for leaders with other settings that read the same cluster.
    fn find_others(&mut self, now: Time) {
        if self.view.config.part() == Part::Metrics {
            return;
        }
        if let Some(report) = self.others.tick(&self.view.config, now) {
            vm::stats().other_leaders.set(report.count as u64);
            for warning in report.warnings {
                log::warn(format_args!("{warning}"));
            }
        }
    }

    /// Ends the term if something else wrote a key of the leader. The next term repairs it.
    fn check_keys(&mut self, now: Time) -> Result<(), CasConflict> {
        if self.keys_checked <= now && now < self.keys_checked.after(KEY_CHECK_PERIOD) {
            return Ok(());
        }
        self.keys_checked = now;
        self.cluster.check_keys()?;
        self.discovery
            .as_ref()
            .map_or(Ok(()), AdapterDiscoveryTask::check_key)?;
        self.peers.as_ref().map_or(Ok(()), PeersTask::check_keys)
    }

    /// Does a part of the work that is left.
    pub(crate) fn advance(&mut self, now: Time) -> Result<(), CasConflict> {
        let effects = self.cluster.advance(now);
        self.apply(effects)
    }

    /// Takes the snapshot that was published since the last call, so that this VM need not read it from shared data.
    pub(crate) fn take_published(&mut self) -> Option<Vec<u8>> {
        self.cluster.take_published()
    }

    pub(crate) fn has_published(&self) -> bool {
        self.cluster.has_published()
    }

    /// Drops a part of what it holds. Returns whether there was any left.
    pub(crate) fn release(&mut self) -> bool {
        self.cluster.release()
    }

    /// Handles what happened to a callout.
    pub(crate) fn on_callout(
        &mut self,
        purpose: LeaderPurpose,
        event: CalloutEvent<'_>,
        now: Time,
    ) -> Result<(), CasConflict> {
        match purpose {
            LeaderPurpose::Read(purpose) => {
                let effects = self.cluster.on_event(purpose, event, now);
                self.apply(effects)
            }
            LeaderPurpose::AdapterResources(api) => match (&mut self.discovery, event.into_answer()) {
                (Some(discovery), Some(answer)) => discovery.on_callout(api, answer, self.cluster.guard()),
                _ => Ok(()),
            },
            LeaderPurpose::Peer(index) => match &mut self.peers {
                Some(peers) => peers.on_callout(index, event, self.cluster.guard_mut(), now),
                None => Ok(()),
            },
            LeaderPurpose::Report => {
                if let (Some(aggregator), Some(answer)) = (&mut self.aggregator, event.into_answer()) {
                    aggregator.on_callout(answer);
                }
                Ok(())
            }
        }
    }

    fn apply(&mut self, effects: Vec<Effect>) -> Result<(), CasConflict> {
        for effect in effects {
            match self.cluster.apply(effect)? {
                Some(HostEffect::Read(request)) => self.send(request),
                Some(HostEffect::SetGauges(totals)) => vm::stats().show_totals(self.view.config.part(), &totals),
                Some(HostEffect::SetListGauge(source, readable)) => vm::stats().show_list(&source, readable),
                Some(HostEffect::CountPoll(outcome)) => vm::stats().count_poll(outcome),
                Some(HostEffect::CloseStream(stream)) => callouts::queue_close(stream),
                Some(HostEffect::LogError(line)) => log::error(format_args!("{line}")),
                Some(HostEffect::LogWarning(line)) => log::warn(format_args!("{line}")),
                Some(HostEffect::LogInfo(line)) => log::info(format_args!("{line}")),
                None => {}
            }
        }
        Ok(())
    }

    fn send(&self, request: ReadRequest) {
        let api = &self.view.config.api;
        let if_none_match = request.if_none_match.map(|tag| ("if-none-match", tag));
        callouts::queue(Callout {
            purpose: Purpose::Leader(self.view.config.part(), LeaderPurpose::Read(request.purpose)),
            cluster: api.cluster.clone(),
            authority: api.authority.clone(),
            method: "GET",
            path: request.path,
            headers: [("accept", request.accept.to_owned())]
                .into_iter()
                .chain(if_none_match)
                .collect(),
            body: None,
            timeout: api.timeout.saturating_add(request.duration),
            stream: request.stream.map(|stream| StreamCallout {
                path: stream.path,
                accept: (stream.accept != request.accept).then_some(stream.accept),
                timeout: api.timeout.saturating_add(stream.watch_timeout),
            }),
        });
    }
}
