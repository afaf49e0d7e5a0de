//! A leader at work, recorded line by line.

use std::collections::VecDeque;
use std::fmt::Write as _;

use burst_model::config::Config;
use burst_model::hash;
use burst_model::kube::{Response, answer};
use burst_model::leader::{Effect, Leader};
use burst_model::records::{Confirmed, Keys, Record};
use burst_model::time::Time;

use crate::api::Answer;

/// The text so far, and the last publication.
pub(crate) struct Transcript {
    pub(crate) text: String,
    snapshot: Vec<u8>,
    confirmed: Confirmed,
}

impl Transcript {
    pub(crate) fn new(config: &Config) -> Self {
        let Keys {
            lease,
            snapshot,
            confirmed,
            resume,
            troubles,
            policies,
            parsing,
            quarantine,
            offers,
        } = Keys::new(config.settings_hash(), config.lists_hash());
        let text = format!(
            "{lease}\n{snapshot}\n{confirmed}\n{resume}\n{troubles}\n{policies}\n{parsing}\n{quarantine}\n{offers}\n"
        );
        Self {
            text,
            snapshot: Vec::new(),
            confirmed: Confirmed::default(),
        }
    }

    /// One tick; every request is answered at once.
    pub(crate) fn round(&mut self, leader: &mut Leader, now: Time, api: impl Fn(&str) -> Answer) {
        self.line(&format!("\n{}", now.unix_millis()));
        let mut effects = VecDeque::from(leader.tick(now));
        while let Some(effect) = effects.pop_front() {
            if let Effect::Ask(ask) = &effect {
                let (status, body) = api(&ask.request.path);
                let source = leader.source(ask.source).expect("the list that was asked for").clone();
                let response = Response {
                    status: Some(status),
                    content_type: None,
                    retry_after: None,
                    body,
                };
                let answer = answer::read(&source, ask.request.verb, response, &mut ());
                self.line(&format!("{status} {}", ask.request.path));
                effects.extend(leader.answer(ask.source, answer, now, u32::MAX));
            } else {
                self.effect(effect);
            }
        }
    }

    fn effect(&mut self, effect: Effect) {
        match effect {
            Effect::Ask(_) | Effect::AskHub(_) => {}
            Effect::Publish(snapshot) => {
                self.line(&format!("publish {} bytes", snapshot.len()));
                self.snapshot = snapshot;
            }
            Effect::Enforce(policies) => self.line(&format!("enforce {policies:?}")),
            Effect::Bequeath(resume) => {
                let (bytes, hash) = (resume.len(), hash::of_bytes(&resume));
                self.line(&format!("bequeath {bytes} bytes {hash:016x}"));
            }
            Effect::Admit(troubles) => self.line(&format!("admit {:02x?}", troubles.to_bytes())),
            Effect::Confirm(confirmed) => {
                self.line(&format!("confirm {:02x?}", confirmed.to_bytes()));
                self.confirmed = confirmed;
            }
            Effect::Show(totals) => self.line(&format!("{totals:?}")),
            Effect::ShowList(source, readable) => self.line(&format!("{source}: {readable:?}")),
            Effect::Count(outcome) => self.line(outcome.word()),
            Effect::Warn(line) | Effect::Inform(line) => self.line(&line),
        }
    }

    fn line(&mut self, line: &str) {
        writeln!(self.text, "{line}").expect("text grows");
    }

    /// The last snapshot, and when it was confirmed.
    pub(crate) fn published(&self) -> (Vec<u8>, Confirmed) {
        (self.snapshot.clone(), self.confirmed.clone())
    }
}
