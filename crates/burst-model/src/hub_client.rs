//! What the polling root context of a spoke does: it asks another proxy, the hub, for its Services instead of asking the
//! Kubernetes API for lists, and publishes a snapshot when one changed. Like the [`Leader`](crate::leader::Leader) it
//! says what is to be done, and the shell does it.
//!
//! The picture is as old as the hub's: what counts is when the hub read the cluster, not when the hub was asked.

mod messages;
mod response;
mod services;

pub use response::{EntityTag, HubPayload, HubResponse, LARGEST_ANSWER, parse};
pub use services::HubServices;

use crate::config::Config;
use crate::confirmation::Confirmation;
use crate::index::{SERVICES, Table};
use crate::kube::page::InvalidItem;
use crate::kube::{Failure, PollOutcome, Verb};
use crate::leader::{Effect, Handover, Totals};
use crate::quota::Quota;
use crate::records::{Confirmed, Failures, ListFailure};
use crate::serve::burst::BulkBody;
use crate::snapshot::{self, Snapshot};
use crate::sync::backoff::{Backoff, PROBE_INTERVAL};
use crate::sync::interval::next_read;
use crate::sync::reflector::FailurePause;
use crate::time::Time;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Lines about bad entries in a minute: a broken hub must not flood the logs of its spokes.
const MOST_LINES: usize = 10;

/// What the hub is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubRequest {
    /// The path.
    pub path: String,
    /// `if-none-match`.
    pub if_none_match: Option<String>,
}

/// What a spoke does at the moment.
#[derive(Clone, Copy, Debug)]
enum HubClientState {
    /// Nothing is under way, since then and until then.
    Waiting { since: Time, due: Time },
    /// The hub was asked.
    Asking { asked: Time },
}

/// The polling root context of a spoke.
#[derive(Debug)]
pub struct HubClient {
    config: Rc<Config>,
    /// Of the hub's Services.
    path: String,
    life: HubClientState,
    backoff: Backoff,
    /// The hub's tag of what is published.
    tag: Option<EntityTag>,
    generation: u64,
    /// The hash of what is published.
    content: Option<u64>,
    /// When the hub read the cluster.
    read: Option<Time>,
    /// The entries that are left out, with the line that says why: the first hundred.
    bad: BTreeMap<String, String>,
    lines: Quota,
    /// What the operator was told of last.
    trouble: Option<PollOutcome>,
    /// When the last tick was.
    ticked: Time,
}

impl HubClient {
    /// Takes over, and asks at once, unless the last one left the hub alone: what that published has a tag, with which a
    /// question costs next to nothing.
    #[must_use]
    pub fn new(config: Rc<Config>, path: &str, estate: Handover, now: Time) -> Self {
        let Handover {
            snapshot,
            confirmed,
            failures: troubles,
            ..
        } = estate;
        let trouble = troubles.and_then(|troubles| troubles.lists.first().copied());
        let ListFailure {
            reported_failure: told,
            pause,
            ..
        } = trouble.unwrap_or_default();
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
            life: HubClientState::Waiting { since, due },
            backoff: Backoff::with_failures(failures),
            tag: snapshot.as_ref().and_then(tag_of),
            generation: snapshot
                .as_ref()
                .map_or(0, Snapshot::generation)
                .max(confirmed.as_ref().map_or(0, |confirmed| confirmed.generation)),
            content: snapshot.as_ref().map(Snapshot::content_hash),
            read: confirmed.as_ref().and_then(Confirmed::oldest),
            bad: BTreeMap::new(),
            lines: Quota::new(MOST_LINES),
            trouble: told.map(|(_, outcome)| outcome),
            ticked: Time::default(),
        }
    }

    /// Whether nothing is under way, and nothing about to begin: another may take over.
    #[must_use]
    pub fn is_idle(&self, now: Time) -> bool {
        matches!(self.life, HubClientState::Waiting { .. }) && !self.is_due(now)
    }

    /// Once a tick.
    pub fn tick(&mut self, now: Time) -> Vec<Effect> {
        let mut effects = Vec::from_iter(self.set_back(now));
        if self.is_due(now) {
            self.life = HubClientState::Asking { asked: now };
            effects.push(Effect::RequestHub(HubRequest {
                path: self.path.clone(),
                if_none_match: self.tag.as_ref().map(ToString::to_string),
            }));
        }
        effects
    }

    /// Has what was read before the clock was set back grow old by the clock as it is.
    fn set_back(&mut self, now: Time) -> Option<Effect> {
        let last = std::mem::replace(&mut self.ticked, now);
        let read = self.read.map(|read| read.set_back(last, now));
        (read != std::mem::replace(&mut self.read, read)).then(|| self.confirm())
    }

    fn confirm(&self) -> Effect {
        Effect::Confirm(Confirmed {
            generation: self.generation,
            lists: vec![self.read],
        })
    }

    /// Takes what the question brought.
    pub fn answer(&mut self, answer: Result<HubPayload, Failure>, now: Time, chance: u32) -> Vec<Effect> {
        let HubClientState::Asking { asked } = self.life else {
            return Vec::new();
        };
        let answer = answer.and_then(|answer| self.asked_for(answer));
        let mut effects = vec![Effect::CountPoll(
            answer.as_ref().map_or_else(PollOutcome::from, |_| PollOutcome::Ok),
        )];
        match answer {
            Ok(answer) => {
                self.schedule_next(asked, now);
                effects.extend(self.report_recovery());
                effects.extend(self.take(answer, asked, now));
            }
            Err(failure) => {
                self.back_off(&failure, now, chance);
                effects.extend(self.report_failure(&failure));
                effects.push(self.record_failures());
            }
        }
        effects
    }

    /// What may be parsed is other than it was: the next answer comes whole.
    pub fn requeue_skipped(&mut self) {
        if !self.bad.is_empty() {
            self.tag = None;
        }
    }

    fn is_due(&self, now: Time) -> bool {
        match self.life {
            // A clock that was set back would make a long wait of a short one.
            HubClientState::Waiting { since, due } => due <= now || now < since,
            HubClientState::Asking { .. } => false,
        }
    }

    fn schedule_next(&mut self, asked: Time, now: Time) {
        self.backoff.reset();
        self.life = HubClientState::Waiting {
            since: now,
            due: next_read(asked, self.config.poll_interval, now),
        };
    }

    fn back_off(&mut self, failure: &Failure, now: Time, chance: u32) {
        // A hub may wish for what it likes: in a longer pause the picture would be lost for nothing.
        let wish = failure.retry_after().map(|wish| wish.min(self.config.max_staleness));
        let due = now.after(self.backoff.next_delay(PROBE_INTERVAL, wish, chance));
        self.life = HubClientState::Waiting { since: now, due };
    }

    /// Nothing can be unchanged for who has named nothing.
    fn asked_for(&self, answer: HubPayload) -> Result<HubPayload, Failure> {
        match answer {
            HubPayload::Unchanged(_) if self.tag.is_none() => Err(Failure::Unexpected(304)),
            answer => Ok(answer),
        }
    }

    fn take(&mut self, answer: HubPayload, asked: Time, now: Time) -> Vec<Effect> {
        let (HubPayload::Unchanged(confirmation) | HubPayload::Services { confirmation, .. }) = &answer;
        let Some(read) = self.newer(confirmation, asked, now) else {
            return Vec::new();
        };
        self.read = Some(read);
        let mut effects = match answer {
            HubPayload::Unchanged(_) => Vec::new(),
            HubPayload::Services { services, tag, .. } => self.publish(services, tag, now),
        };
        effects.push(self.confirm());
        effects
    }

    /// When the hub read the cluster, unless more is known than that: behind one address there may be several hubs, and
    /// the picture must not go back and forth between them. A read that lies ahead was made before the clock was set
    /// back.
    fn newer(&self, confirmation: &Confirmation, asked: Time, now: Time) -> Option<Time> {
        let read = confirmation.read_at(asked, now);
        let known = self.read.filter(|known| *known <= now);
        (known <= Some(read)).then_some(read)
    }

    fn publish(&mut self, services: HubServices, tag: Option<EntityTag>, now: Time) -> Vec<Effect> {
        let HubServices { rows, bad, more_bad } = services;
        let mut effects = self.complain(bad, now);
        let totals = Totals {
            objects: rows.len() as u64,
            bad_objects: self.bad.len().saturating_add(more_bad) as u64,
            services: rows.len() as u64,
            ..Totals::default()
        };
        let table = Table::from([(SERVICES.into(), rows)]);
        if let Ok(snapshot) = Snapshot::open(snapshot::write(&table, self.generation.wrapping_add(1))) {
            self.tag = tag;
            let content = Some(snapshot.content_hash());
            if content != self.content {
                (self.content, self.generation) = (content, snapshot.generation());
                effects.push(Effect::PublishSnapshot(snapshot.into_bytes()));
            }
        }
        effects.push(Effect::SetGauges(totals));
        effects
    }

    /// A line for each entry that is left out and was not before.
    fn complain(&mut self, bad: Vec<InvalidItem>, now: Time) -> Vec<Effect> {
        let line = |InvalidItem { name, reason }| (format!("excluded Service {name}: {reason}"), name);
        let before = std::mem::take(&mut self.bad);
        self.bad
            .extend(bad.into_iter().map(line).map(|(line, name)| (name, line)));
        let is_new = |(name, line): &(&String, &String)| before.get(*name) != Some(*line);
        let lines = self.bad.iter().filter(is_new).map(|(_, line)| line.clone());
        let lines = self.lines.lines(lines, now);
        lines.into_iter().map(Effect::LogWarning).collect()
    }

    /// One line for a change of state, not one for every failure.
    fn report_failure(&mut self, failure: &Failure) -> Option<Effect> {
        let trouble = Some(PollOutcome::from(failure));
        let is_news = std::mem::replace(&mut self.trouble, trouble) != trouble;
        is_news.then(|| Effect::LogWarning(messages::trouble(&self.config.api.cluster, failure)))
    }

    fn report_recovery(&mut self) -> Vec<Effect> {
        match self.trouble.take() {
            None => Vec::new(),
            Some(_) => vec![
                Effect::LogInfo(messages::recovered(&self.config.api.cluster)),
                Effect::RecordFailures(Failures::default()),
            ],
        }
    }

    /// What fails, for a successor.
    fn record_failures(&self) -> Effect {
        let failures = self.backoff.failures();
        let pause = match self.life {
            HubClientState::Waiting { since, due } => Some(FailurePause {
                failures,
                since,
                due,
                not_before: due,
            }),
            HubClientState::Asking { .. } => None,
        };
        let told = self.trouble.map(|outcome| (Verb::List, outcome));
        Effect::RecordFailures(Failures {
            lists: vec![ListFailure {
                reported_failure: told,
                pause,
                ..ListFailure::default()
            }],
        })
    }
}

/// The tag that a hub gives what was made of its answer, if every entry of it was taken: it is a hash of the rows.
fn tag_of(snapshot: &Snapshot) -> Option<EntityTag> {
    let services = snapshot.section(SERVICES).filter(|services| !services.is_empty())?;
    EntityTag::parse(BulkBody::render(services).etag().as_bytes())
}

#[cfg(test)]
mod tests;
