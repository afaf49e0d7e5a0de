//! The client of a spoke, and of a proxy that reads peers. A spoke does not list objects at the Kubernetes API. Its leader requests the Services of
//! another proxy, the hub, and publishes a snapshot when they change. Like the [`Leader`](crate::leader::Leader), it
//! returns effects, which the shell carries out.
//!
//! Once it has a snapshot, its requests are long polls: the hub holds each back until its Services differ, or until the wait
//! is over. A hub that does not do that, because it is older or because too many requests wait there, is polled.
//!
//! The snapshot is as old as the hub's: its age counts from when the hub read the cluster, not from the request.

mod long_poll;
mod messages;
mod response;
mod services;
mod source;

pub use response::{EntityTag, HubPayload, HubResponse, MAX_RESPONSE_BYTES, parse};
pub use services::HubServices;
pub use source::HubSource;

use crate::config::Config;
use crate::confirmation::Confirmation;
use crate::failure_state::FailureState;
use crate::hub_request::HubRequest;
use crate::index::{SERVICES, Table};
use crate::kube::item::InvalidItem;
use crate::kube::{Failure, PollOutcome, Verb};
use crate::leader::{Effect, Handover, Totals};
use crate::quota::Quota;
use crate::records::{Confirmed, Failures, ListFailure};
use crate::serve::{BulkBody, json_etag};
use crate::signals::SignalSet;
use crate::snapshot::{self, Snapshot};
use crate::sync::backoff::{Backoff, PROBE_INTERVAL};
use crate::sync::interval::next_read;
use crate::sync::reflector::FailurePause;
use crate::time::Time;
use long_poll::LongPollBackoff;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

/// Log lines about invalid entries per minute. A broken hub must not flood the logs of its spokes.
const MAX_LINES: usize = 10;

/// Whether a request is in flight.
#[derive(Clone, Copy, Debug)]
enum HubClientState {
    /// No request is in flight. The next one is due at `due`.
    Waiting { since: Time, due: Time, next: RequestKind },
    /// A request was sent.
    InFlight { sent: Time, kind: RequestKind },
}

/// Whether the hub may hold the response back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestKind {
    /// The hub responds at once.
    Poll,
    /// The hub responds when its Services differ from the published ones.
    LongPoll,
}

/// The state of a spoke's leader.
#[derive(Debug)]
pub struct HubClient {
    config: Rc<Config>,
    /// What it reads.
    source: HubSource,
    /// The path of the hub's Services, with the parameter `format` if signals are needed.
    path: String,
    state: HubClientState,
    backoff: Backoff,
    long_polls: LongPollBackoff,
    /// The hub's entity tag of the published Services.
    tag: Option<EntityTag>,
    generation: u64,
    /// The content hash of the published snapshot.
    content_hash: Option<u64>,
    /// When the hub read the cluster.
    read_at: Option<Time>,
    /// The same by the hub's clock.
    hub_read_at: Option<Time>,
    /// The log line of each excluded entry, by name. Only the first hundred entries are kept.
    invalid: BTreeMap<String, String>,
    line_quota: Quota,
    /// The failure that the log named last, until a request succeeds.
    reported: FailureState<PollOutcome>,
    /// The time of the last tick.
    last_tick: Time,
}

impl HubClient {
    /// Takes over from another leader. The first request is due at once, or at the end of the pause that the other leader
    /// was in. It carries the entity tag of the published snapshot, so it costs little if nothing changed.
    #[must_use]
    pub fn new(config: Rc<Config>, source: HubSource, handover: Handover, now: Time) -> Self {
        let Handover {
            snapshot, confirmed, ..
        } = handover;
        let ListFailure {
            reported_failure,
            pause,
            ..
        } = handover
            .failures
            .and_then(|failures| failures.lists.first().copied())
            .unwrap_or_default();
        let due_now = FailurePause {
            failures: 0,
            since: now,
            due: now,
            not_before: now,
        };
        let FailurePause {
            failures, since, due, ..
        } = pause.unwrap_or(due_now);
        Self {
            path: request_path(source.path(), config.content.signals),
            source,
            state: HubClientState::Waiting {
                since,
                due,
                next: RequestKind::Poll,
            },
            backoff: Backoff::with_failures(failures),
            long_polls: LongPollBackoff::default(),
            tag: snapshot
                .as_ref()
                .and_then(|snapshot| tag_of(snapshot, config.content.signals)),
            generation: snapshot
                .as_ref()
                .map_or(0, Snapshot::generation)
                .max(confirmed.as_ref().map_or(0, |confirmed| confirmed.generation)),
            content_hash: snapshot.as_ref().map(Snapshot::content_hash),
            read_at: confirmed.as_ref().and_then(Confirmed::oldest),
            hub_read_at: None,
            invalid: BTreeMap::new(),
            line_quota: Quota::new(MAX_LINES),
            reported: FailureState::new(reported_failure.map(|(_, outcome)| outcome)),
            last_tick: Time::default(),
            config,
        }
    }

    /// The name that the cluster of the responses must have, if they say one.
    #[must_use]
    pub fn expected_cluster(&self) -> Option<&str> {
        self.source.expected_cluster()
    }

    /// Returns whether another VM may take over: no request is due, and none is in flight but one that waits for a change.
    #[must_use]
    pub fn is_idle(&self, now: Time) -> bool {
        match self.state {
            HubClientState::Waiting { .. } => !self.is_due(now),
            HubClientState::InFlight { kind, .. } => kind == RequestKind::LongPoll,
        }
    }

    /// When the next request is due, if it need not wait for a tick.
    #[must_use]
    pub fn next_due(&self) -> Option<Time> {
        match self.state {
            HubClientState::Waiting {
                due,
                next: RequestKind::LongPoll,
                ..
            } => Some(due),
            HubClientState::Waiting { .. } | HubClientState::InFlight { .. } => None,
        }
    }

    /// Call this once a tick.
    pub fn tick(&mut self, now: Time) -> Vec<Effect> {
        let mut effects = Vec::from_iter(self.adjust_to_clock(now));
        effects.extend(self.advance(now));
        effects
    }

    /// Sends the next request if it is due.
    pub fn advance(&mut self, now: Time) -> Vec<Effect> {
        let HubClientState::Waiting { next, .. } = self.state else {
            return Vec::new();
        };
        if !self.is_due(now) {
            return Vec::new();
        }
        // A hub has nothing to compare with if there is no entity tag.
        let kind = match self.tag {
            Some(_) => next,
            None => RequestKind::Poll,
        };
        self.state = HubClientState::InFlight { sent: now, kind };
        let wait = match kind {
            RequestKind::Poll => Duration::ZERO,
            RequestKind::LongPoll => long_poll::wait(&self.config),
        };
        vec![Effect::RequestHub(HubRequest {
            path: long_poll::path(&self.path, wait),
            if_none_match: self.tag.as_ref().map(ToString::to_string),
            wait,
        })]
    }

    /// Corrects the time of the last read if the clock was set back, so that the snapshot keeps its age.
    fn adjust_to_clock(&mut self, now: Time) -> Option<Effect> {
        let last = std::mem::replace(&mut self.last_tick, now);
        let read = self.read_at.map(|read| read.set_back(last, now));
        (read != std::mem::replace(&mut self.read_at, read)).then(|| self.confirm())
    }

    fn confirm(&self) -> Effect {
        Effect::Confirm(Confirmed {
            generation: self.generation,
            lists: vec![self.read_at],
        })
    }

    /// Handles the response to a request. `chance` is a random number for the jitter of the backoff.
    pub fn handle_response(&mut self, response: Result<HubPayload, Failure>, now: Time, chance: u32) -> Vec<Effect> {
        let HubClientState::InFlight { sent, kind } = self.state else {
            return Vec::new();
        };
        let payload = response.and_then(|payload| self.check_not_modified(payload));
        let mut effects = vec![Effect::CountPoll(
            payload.as_ref().map_or_else(PollOutcome::from, |_| PollOutcome::Ok),
        )];
        match payload {
            Ok(payload) => {
                effects.extend(self.report_recovery());
                self.backoff.reset();
                let supports_waiting = payload.confirmation().supports_waiting();
                match self.apply(payload, sent, now) {
                    Some(applied) => {
                        effects.extend(applied);
                        self.schedule_next(kind, supports_waiting, sent, now);
                    }
                    None => self.schedule_after_older_read(now, chance),
                }
                effects.extend(self.advance(now));
            }
            // Something may cut long requests. Only a request that is to be answered at once shows how the hub is.
            Err(failure) if kind == RequestKind::LongPoll => {
                self.long_polls
                    .note_failure(self.config.poll_interval, failure.retry_after(), chance);
                self.wait_until(now, now, RequestKind::Poll);
                effects.extend(self.advance(now));
            }
            Err(failure) => {
                self.back_off(&failure, now, chance);
                effects.extend(self.report_failure(&failure));
                effects.push(self.record_failures());
            }
        }
        effects
    }

    /// Parses entries again that were excluded. Call this when the quarantine changes. The next request carries no entity
    /// tag, so its response is complete.
    pub fn requeue_skipped(&mut self) {
        if !self.invalid.is_empty() {
            self.tag = None;
        }
    }

    fn is_due(&self, now: Time) -> bool {
        match self.state {
            // After the clock is set back, `due` would be too far away.
            HubClientState::Waiting { since, due, .. } => due <= now || now < since,
            HubClientState::InFlight { .. } => false,
        }
    }

    /// Schedules the request after one that was answered.
    fn schedule_next(&mut self, kind: RequestKind, supports_waiting: bool, sent: Time, now: Time) {
        if self.tag.is_none() {
            let due = next_read(sent, self.config.poll_interval, now);
            return self.wait_until(due, now, RequestKind::Poll);
        }
        let due = match kind {
            RequestKind::Poll => match self.long_polls.take_pause() {
                Some(pause) => now.after(pause),
                None => long_poll::next(sent, now),
            },
            RequestKind::LongPoll => {
                self.long_polls.note_success();
                match supports_waiting {
                    true => long_poll::next(sent, now),
                    // An older hub.
                    false => sent.after(self.config.poll_interval).max(now),
                }
            }
        };
        self.wait_until(due, now, RequestKind::LongPoll);
    }

    /// Schedules the request after an answer that is older than what is known. The hub that gave it may be behind for a
    /// while, and would answer each request at once.
    fn schedule_after_older_read(&mut self, now: Time, chance: u32) {
        self.long_polls.note_failure(self.config.poll_interval, None, chance);
        let pause = self.long_polls.take_pause().unwrap_or(self.config.poll_interval);
        self.wait_until(now.after(pause), now, RequestKind::LongPoll);
    }

    fn wait_until(&mut self, due: Time, now: Time, next: RequestKind) {
        self.state = HubClientState::Waiting { since: now, due, next };
    }

    fn back_off(&mut self, failure: &Failure, now: Time, chance: u32) {
        // In a longer pause the snapshot would become stale.
        let requested = failure
            .retry_after()
            .map(|requested| requested.min(self.config.max_staleness));
        let due = now.after(self.backoff.next_delay(PROBE_INTERVAL, requested, chance));
        self.wait_until(due, now, RequestKind::Poll);
    }

    /// A 304 is only valid if the request carried an entity tag.
    fn check_not_modified(&self, payload: HubPayload) -> Result<HubPayload, Failure> {
        match payload {
            HubPayload::Unchanged(_) if self.tag.is_none() => Err(Failure::Unexpected(304)),
            payload => Ok(payload),
        }
    }

    /// Publishes the Services of a response. `None` if they are older than those published before.
    fn apply(&mut self, payload: HubPayload, sent: Time, now: Time) -> Option<Vec<Effect>> {
        let confirmation = payload.confirmation();
        self.read_at = Some(self.newer_read(confirmation, sent, now)?);
        self.hub_read_at = Some(confirmation.at());
        let mut effects = match payload {
            HubPayload::Unchanged(_) => Vec::new(),
            HubPayload::Services { services, tag, .. } => self.publish(services, tag, now),
        };
        effects.push(self.confirm());
        Some(effects)
    }

    /// When the hub read the cluster; `None` if that is older than the last known read. Several hubs may share one address,
    /// and the snapshot must not alternate between them. A known read in the future was made before the clock was set
    /// back, and does not count.
    fn newer_read(&self, confirmation: Confirmation, sent: Time, now: Time) -> Option<Time> {
        let read = confirmation.read_at(sent, now);
        let known = self.read_at.filter(|known| *known <= now);
        // If the clocks differ, the time of one read comes out a little different with each response.
        if known.is_some() && self.hub_read_at == Some(confirmation.at()) {
            return known.max(Some(read));
        }
        (known <= Some(read)).then_some(read)
    }

    fn publish(&mut self, services: HubServices, tag: Option<EntityTag>, now: Time) -> Vec<Effect> {
        let HubServices {
            mut rows,
            invalid,
            more_invalid,
        } = services;
        // The hub may show more of them, and a change of those is none here.
        for row in &mut rows {
            row.signals = row.signals.only(self.config.content.signals);
        }
        let mut effects = self.report_invalid(invalid, now);
        let totals = Totals {
            objects: rows.len() as u64,
            bad_objects: self.invalid.len().saturating_add(more_invalid) as u64,
            services: rows.len() as u64,
            ..Totals::default()
        };
        let table = Table::from([(SERVICES.into(), rows)]);
        if let Ok(snapshot) = Snapshot::open(snapshot::write(&table, self.generation.wrapping_add(1))) {
            self.tag = tag;
            let content = Some(snapshot.content_hash());
            if content != self.content_hash {
                (self.content_hash, self.generation) = (content, snapshot.generation());
                effects.push(Effect::PublishSnapshot(snapshot.into_bytes()));
            }
        }
        effects.push(Effect::SetGauges(totals));
        effects
    }

    /// Logs each excluded entry that was not excluded before, or for another reason.
    fn report_invalid(&mut self, invalid: Vec<InvalidItem>, now: Time) -> Vec<Effect> {
        let before = std::mem::take(&mut self.invalid);
        for InvalidItem { name, reason } in invalid {
            let line = self.source.exclusion_line(&name, &reason);
            self.invalid.insert(name, line);
        }
        let new_lines = self
            .invalid
            .iter()
            .filter(|(name, line)| before.get(*name) != Some(*line))
            .map(|(_, line)| line.clone());
        self.line_quota
            .lines(new_lines, now)
            .into_iter()
            .map(Effect::LogWarning)
            .collect()
    }

    /// Logs a failure, unless the last request failed in the same way.
    fn report_failure(&mut self, failure: &Failure) -> Option<Effect> {
        self.reported.update(Err(failure.into()))?;
        Some(Effect::LogWarning(messages::failure_line(&self.source, failure)))
    }

    fn report_recovery(&mut self) -> Vec<Effect> {
        match self.reported.update(Ok(())) {
            None => Vec::new(),
            Some(_) => vec![
                Effect::LogInfo(messages::recovery_line(&self.source)),
                Effect::RecordFailures(Failures::default()),
            ],
        }
    }

    /// Records the failure and the backoff for a successor.
    fn record_failures(&self) -> Effect {
        let failures = self.backoff.failures();
        let pause = match self.state {
            HubClientState::Waiting { since, due, .. } => Some(FailurePause {
                failures,
                since,
                due,
                not_before: due,
            }),
            HubClientState::InFlight { .. } => None,
        };
        let reported_failure = self.reported.failure().map(|outcome| (Verb::List, *outcome));
        Effect::RecordFailures(Failures {
            lists: vec![ListFailure {
                reported_failure,
                pause,
                ..ListFailure::default()
            }],
        })
    }
}

/// The path of the hub's Services. Only `format=json` has signals. A hub that is older than this format ignores the parameter.
fn request_path(path: &str, signals: SignalSet) -> String {
    if signals.is_empty() {
        return path.to_owned();
    }
    format!("{path}?format=json")
}

/// The entity tag that the hub gives the rows of this snapshot. It is a hash of the rows, so it only matches the hub's if
/// no entry was excluded, and if the hub shows the same signals.
fn tag_of(snapshot: &Snapshot, signals: SignalSet) -> Option<EntityTag> {
    let services = snapshot.section(SERVICES).filter(|services| !services.is_empty())?;
    let tag = if signals.is_empty() {
        BulkBody::render(services).etag().to_owned()
    } else {
        json_etag(services, signals)
    };
    EntityTag::parse(tag.as_bytes())
}

#[cfg(test)]
mod tests;
