//! The office of the leader: the pure [`Reader`] with its calls under way and its fenced writes.
//!
//! What it writes it writes by [`Key`], so that one that was deposed overwrites nothing. One key is not the office's own:
//! what a successor goes on with, see [`burst_model::records::Resume`].

use crate::attic::Attic;
use crate::calls::Calls;
use crate::host::{self, Outrun, Shared};
use crate::key::{Key, Tenure};
use crate::log;
use crate::metrics_apis::Survey;
use crate::reader::{Answered, Call, Ended, Reader, Request};
use crate::requests::Desk;
use crate::vm;
use burst_model::config::Config;
use burst_model::hash;
use burst_model::kube::Progress;
use burst_model::leader::{Effect, Estate};
use burst_model::records::{Keys, Record};
use burst_model::snapshot::Snapshot;
use burst_model::sync::lease::{self, Lease};
use burst_model::time::Time;
use std::collections::VecDeque;
use std::rc::Rc;

/// The leader at work.
#[derive(Debug)]
pub(crate) struct Office {
    config: Rc<Config>,
    reader: Reader,
    calls: Calls<Call>,
    snapshot: Key,
    /// What was published and is not served here yet.
    published: Option<Vec<u8>>,
    confirmed: Key,
    /// A key that leaders of other settings write too.
    resume: String,
    troubles: Key,
    policies: Key,
    parsing: Guard,
    /// Where requests are counted.
    desk: Option<Desk>,
    /// Where there are other adapters.
    survey: Option<Survey>,
    attic: Attic,
}

/// Notes outside the VM which item is being parsed, and keeps away from those that killed a leader before.
#[derive(Debug)]
struct Guard {
    key: String,
    poison: Vec<u64>,
}

impl Progress for Guard {
    fn begin(&mut self, item: &str) -> bool {
        let hash = lease::poison_of(item);
        if self.poison.contains(&hash) {
            return false;
        }
        host::share_over(&self.key, &hash.to_le_bytes());
        #[cfg(feature = "test-trap")]
        if item.contains("burst-metrics.test/trap") {
            crate::host::trap();
        }
        true
    }
}

/// The item that somebody began to parse and did not end.
pub(crate) fn unfinished(keys: &Keys) -> Option<u64> {
    Shared::read(&keys.parsing)
        .bytes
        .first_chunk()
        .copied()
        .map(u64::from_le_bytes)
}

impl Office {
    /// Takes over what the last leader left, with the lease that was written for it.
    pub(crate) fn take(config: Rc<Config>, keys: &Keys, lease: Lease, now: Time) -> Result<Self, Outrun> {
        let tenure = Rc::new(Tenure::new(&keys.lease, lease.holder));
        let (snapshot, bytes) = Key::fence(&keys.snapshot, &tenure)?;
        let (confirmed, confirmed_bytes) = Key::fence(&keys.confirmed, &tenure)?;
        let (troubles, troubles_bytes) = Key::fence(&keys.troubles, &tenure)?;
        let (policies, policies_bytes) = Key::fence(&keys.policies, &tenure)?;
        let desk = Desk::take(&config, &tenure)?;
        let survey = Survey::take(&config, keys, &tenure)?;
        let attic = Attic::new(keys, &config);
        let parsing = Guard {
            key: keys.parsing.clone(),
            poison: lease.poison,
        };
        host::share_over(&parsing.key, &[]);
        let estate = Estate {
            snapshot: Snapshot::open(bytes).ok(),
            confirmed: Record::from_bytes(&confirmed_bytes),
            resume: None,
            troubles: Record::from_bytes(&troubles_bytes),
            policies: Record::from_bytes(&policies_bytes),
        };
        let resume = || Shared::read(&keys.resume).bytes;
        let reader = Reader::new(config.clone(), estate, resume, now);
        Ok(Self {
            config,
            reader,
            calls: Calls::default(),
            snapshot,
            published: None,
            confirmed,
            resume: keys.resume.clone(),
            troubles,
            policies,
            parsing,
            desk,
            survey,
            attic,
        })
    }

    pub(crate) fn is_resting(&self, now: Time) -> bool {
        self.reader.is_resting(now)
    }

    /// Once a tick.
    pub(crate) fn tick(&mut self, now: Time) -> Result<(), Outrun> {
        let effects = self.reader.tick(now);
        self.carry_out(effects, now)?;
        self.attic.tick(now);
        self.desk.as_mut().map_or(Ok(()), |desk| desk.tick(now))?;
        self.survey.as_mut().map_or(Ok(()), |survey| survey.tick(now))
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.reader.is_busy()
    }

    /// What was published since the last time; nobody needs to read here what is known here.
    pub(crate) fn take_published(&mut self) -> Option<Vec<u8>> {
        self.published.take()
    }

    pub(crate) fn has_published(&self) -> bool {
        self.published.is_some()
    }

    /// Lets go of a part of what it holds; whether there was any left.
    pub(crate) fn let_go(&mut self) -> bool {
        self.reader.let_go()
    }

    /// Does a part of what is left to do.
    pub(crate) fn go_on(&mut self, now: Time) -> Result<(), Outrun> {
        let effects = self.reader.go_on(now);
        self.carry_out(effects, now)
    }

    /// Takes the answer to a callout, which is the current one of the host.
    pub(crate) fn answer(&mut self, token: u32, has_headers: bool, body_size: usize, now: Time) -> Result<(), Outrun> {
        if let Some(desk) = &mut self.desk
            && desk.answer(token, has_headers, body_size)
        {
            return Ok(());
        }
        if let Some(survey) = &mut self.survey
            && survey.answer(token, has_headers, body_size)?
        {
            return Ok(());
        }
        let Some(call) = self.calls.remove(token) else {
            return Ok(());
        };
        let answered = Answered { has_headers, body_size };
        let Some(ended) = self.reader.read(call, answered, &mut self.parsing) else {
            return Ok(());
        };
        host::share_over(&self.parsing.key, &[]);
        let effects = self.reader.take(ended, now, chance(now, token));
        self.carry_out(effects, now)
    }

    fn carry_out(&mut self, effects: Vec<Effect>, now: Time) -> Result<(), Outrun> {
        let mut effects = VecDeque::from(effects);
        while let Some(effect) = effects.pop_front() {
            match effect {
                Effect::Ask(ask) => effects.extend(self.send(&ask.into(), now)),
                Effect::AskHub(question) => effects.extend(self.send(&question.into(), now)),
                Effect::Publish(snapshot) => {
                    self.snapshot.write(&snapshot)?;
                    self.published = Some(snapshot);
                }
                Effect::Enforce(policies) => self.policies.write(&policies.to_bytes())?,
                Effect::Bequeath(resume) => host::share_over(&self.resume, &resume),
                Effect::Admit(troubles) => self.troubles.write(&troubles.to_bytes())?,
                Effect::Show(totals) => vm::stats().show_totals(&totals),
                Effect::ShowList(source, readable) => vm::stats().show_list(&source, readable),
                Effect::Confirm(confirmed) => self.confirmed.write(&confirmed.to_bytes())?,
                Effect::Count(outcome) => vm::stats().count_poll(outcome),
                Effect::Warn(line) => log::warn(format_args!("{line}")),
                Effect::Inform(line) => log::info(format_args!("{line}")),
            }
        }
        Ok(())
    }

    /// Sends a request; what follows where it cannot be sent.
    fn send(&mut self, request: &Request, now: Time) -> Vec<Effect> {
        let (api, if_none_match) = (&self.config.api, request.if_none_match.as_deref());
        let timeout = api.timeout.saturating_add(request.lasts);
        match host::get(&api.cluster, &api.authority, &request.path, if_none_match, timeout) {
            Ok(token) => {
                self.calls.insert(token, request.call);
                Vec::new()
            }
            Err(reason) => {
                let ended = Ended::not_sent(request.call, format!("{reason} ({})", api.cluster));
                self.reader.take(ended, now, chance(now, 0))
            }
        }
    }
}

/// A Wasm module has no source of randomness; the low bits of the time will do to spread proxies over a pause.
fn chance(now: Time, token: u32) -> u32 {
    let hash = hash::of(&(now.unix_millis(), token));
    u32::try_from(hash >> 32).unwrap_or_default()
}
