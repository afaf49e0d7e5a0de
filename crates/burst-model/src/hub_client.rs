//! The client of a spoke. A spoke does not list objects at the Kubernetes API. Its leader requests the Services of
//! another proxy, the hub, and publishes a snapshot when they change. Like the [`Leader`](crate::leader::Leader), it
//! returns effects, which the shell carries out.
//!
//! The snapshot is as old as the hub's: its age counts from when the hub read the cluster, not from the request.

mod messages;
mod response;
mod services;

pub use response::{EntityTag, HubPayload, HubResponse, MAX_RESPONSE_BYTES, parse};
pub use services::HubServices;

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
use crate::serve::BulkBody;
use crate::snapshot::{self, Snapshot};
use crate::sync::backoff::{Backoff, PROBE_INTERVAL};
use crate::sync::interval::next_read;
use crate::sync::reflector::FailurePause;
use crate::time::Time;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Log lines about invalid entries per minute. A broken hub must not flood the logs of its spokes.
const MAX_LINES: usize = 10;

/// Whether a request is in flight.
#[derive(Clone, Copy, Debug)]
enum HubClientState {
    /// No request is in flight. The next one is due at `due`.
    Waiting { since: Time, due: Time },
    /// A request was sent.
    InFlight { sent: Time },
}

/// The state of a spoke's leader.
#[derive(Debug)]
pub struct HubClient {
    config: Rc<Config>,
    /// The path of the hub's Services.
    path: String,
    state: HubClientState,
    backoff: Backoff,
    /// The hub's entity tag of the published Services.
    tag: Option<EntityTag>,
    generation: u64,
    /// The content hash of the published snapshot.
    content_hash: Option<u64>,
    /// When the hub read the cluster.
    read_at: Option<Time>,
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
    pub fn new(config: Rc<Config>, path: &str, handover: Handover, now: Time) -> Self {
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
            config,
            path: path.into(),
            state: HubClientState::Waiting { since, due },
            backoff: Backoff::with_failures(failures),
            tag: snapshot.as_ref().and_then(tag_of),
            generation: snapshot
                .as_ref()
                .map_or(0, Snapshot::generation)
                .max(confirmed.as_ref().map_or(0, |confirmed| confirmed.generation)),
            content_hash: snapshot.as_ref().map(Snapshot::content_hash),
            read_at: confirmed.as_ref().and_then(Confirmed::oldest),
            invalid: BTreeMap::new(),
            line_quota: Quota::new(MAX_LINES),
            reported: FailureState::new(reported_failure.map(|(_, outcome)| outcome)),
            last_tick: Time::default(),
        }
    }

    /// Returns whether no request is in flight or due, so that another VM may take over.
    #[must_use]
    pub fn is_idle(&self, now: Time) -> bool {
        matches!(self.state, HubClientState::Waiting { .. }) && !self.is_due(now)
    }

    /// Call this once a tick.
    pub fn tick(&mut self, now: Time) -> Vec<Effect> {
        let mut effects = Vec::from_iter(self.adjust_to_clock(now));
        if self.is_due(now) {
            self.state = HubClientState::InFlight { sent: now };
            effects.push(Effect::RequestHub(HubRequest {
                path: self.path.clone(),
                if_none_match: self.tag.as_ref().map(ToString::to_string),
            }));
        }
        effects
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
        let HubClientState::InFlight { sent } = self.state else {
            return Vec::new();
        };
        let payload = response.and_then(|payload| self.check_not_modified(payload));
        let mut effects = vec![Effect::CountPoll(
            payload.as_ref().map_or_else(PollOutcome::from, |_| PollOutcome::Ok),
        )];
        match payload {
            Ok(payload) => {
                self.schedule_next(sent, now);
                effects.extend(self.report_recovery());
                effects.extend(self.apply(payload, sent, now));
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
            HubClientState::Waiting { since, due } => due <= now || now < since,
            HubClientState::InFlight { .. } => false,
        }
    }

    fn schedule_next(&mut self, sent: Time, now: Time) {
        self.backoff.reset();
        self.state = HubClientState::Waiting {
            since: now,
            due: next_read(sent, self.config.poll_interval, now),
        };
    }

    fn back_off(&mut self, failure: &Failure, now: Time, chance: u32) {
        // In a longer pause the snapshot would become stale.
        let requested = failure
            .retry_after()
            .map(|requested| requested.min(self.config.max_staleness));
        let due = now.after(self.backoff.next_delay(PROBE_INTERVAL, requested, chance));
        self.state = HubClientState::Waiting { since: now, due };
    }

    /// A 304 is only valid if the request carried an entity tag.
    fn check_not_modified(&self, payload: HubPayload) -> Result<HubPayload, Failure> {
        match payload {
            HubPayload::Unchanged(_) if self.tag.is_none() => Err(Failure::Unexpected(304)),
            payload => Ok(payload),
        }
    }

    fn apply(&mut self, payload: HubPayload, sent: Time, now: Time) -> Vec<Effect> {
        let (HubPayload::Unchanged(confirmation) | HubPayload::Services { confirmation, .. }) = &payload;
        let Some(read) = self.newer_read(confirmation, sent, now) else {
            return Vec::new();
        };
        self.read_at = Some(read);
        let mut effects = match payload {
            HubPayload::Unchanged(_) => Vec::new(),
            HubPayload::Services { services, tag, .. } => self.publish(services, tag, now),
        };
        effects.push(self.confirm());
        effects
    }

    /// When the hub read the cluster; `None` if that is older than the last known read. Several hubs may share one address,
    /// and the snapshot must not alternate between them. A known read in the future was made before the clock was set
    /// back, and does not count.
    fn newer_read(&self, confirmation: &Confirmation, sent: Time, now: Time) -> Option<Time> {
        let read = confirmation.read_at(sent, now);
        let known = self.read_at.filter(|known| *known <= now);
        (known <= Some(read)).then_some(read)
    }

    fn publish(&mut self, services: HubServices, tag: Option<EntityTag>, now: Time) -> Vec<Effect> {
        let HubServices {
            rows,
            invalid,
            more_invalid,
        } = services;
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
            let line = format!("excluded Service {name}: {reason}");
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
        Some(Effect::LogWarning(messages::failure_line(
            &self.config.api.cluster,
            failure,
        )))
    }

    fn report_recovery(&mut self) -> Vec<Effect> {
        match self.reported.update(Ok(())) {
            None => Vec::new(),
            Some(_) => vec![
                Effect::LogInfo(messages::recovery_line(&self.config.api.cluster)),
                Effect::RecordFailures(Failures::default()),
            ],
        }
    }

    /// Records the failure and the backoff for a successor.
    fn record_failures(&self) -> Effect {
        let failures = self.backoff.failures();
        let pause = match self.state {
            HubClientState::Waiting { since, due } => Some(FailurePause {
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

/// The entity tag that the hub gives the rows of this snapshot. It is a hash of the rows, so it only matches the hub's if
/// no entry was excluded.
fn tag_of(snapshot: &Snapshot) -> Option<EntityTag> {
    let services = snapshot.section(SERVICES).filter(|services| !services.is_empty())?;
    EntityTag::parse(BulkBody::render(services).etag().as_bytes())
}

#[cfg(test)]
mod tests;
