//! A leader at work, recorded line by line.

use std::collections::VecDeque;
use std::fmt::Write as _;

use burst_model::config::Config;
use burst_model::hash;
use burst_model::kube::{ApiResponse, response};
use burst_model::leader::{Effect, Leader};
use burst_model::records::{Confirmed, Record, SharedKeys};
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
        let SharedKeys {
            lease,
            snapshot,
            confirmed,
            checkpoint: resume,
            failures: troubles,
            policies,
            parsing,
            quarantine,
            adapter_resources: offers,
            wake_queues,
            full_candidates,
        } = SharedKeys::of(config);
        let text = format!(
            "{lease}\n{snapshot}\n{confirmed}\n{resume}\n{troubles}\n{policies}\n{parsing}\n{quarantine}\n{offers}\n{wake_queues}\n{full_candidates}\n"
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
            if let Effect::Request(ask) = &effect {
                let (status, body) = api(&ask.request.path);
                let source = leader.source(ask.source).expect("the list that was asked for").clone();
                let response = ApiResponse {
                    status: Some(status),
                    content_type: None,
                    retry_after: None,
                    body,
                };
                let answer = response::parse(&source, ask.request.verb, response, &mut ());
                self.line(&format!("{status} {}", ask.request.path));
                effects.extend(leader.answer(ask.source, answer, now, u32::MAX));
            } else {
                self.effect(effect);
            }
        }
    }

    fn effect(&mut self, effect: Effect) {
        match effect {
            Effect::Request(_) | Effect::RequestHub(_) => {}
            Effect::PublishSnapshot(snapshot) => {
                self.line(&format!("publish {} bytes", snapshot.len()));
                self.snapshot = snapshot;
            }
            Effect::PublishPolicies(policies) => self.line(&format!("enforce {policies:?}")),
            Effect::WriteCheckpoint(resume) => {
                let (bytes, hash) = (resume.len(), hash::of_bytes(&resume));
                self.line(&format!("checkpoint {bytes} bytes {hash:016x}"));
            }
            Effect::CloseStream(stream) => self.line(&format!("close {stream:?}")),
            Effect::RecordFailures(troubles) => self.line(&format!("failures {:02x?}", troubles.to_bytes())),
            Effect::Confirm(confirmed) => {
                self.line(&format!("confirm {:02x?}", confirmed.to_bytes()));
                self.confirmed = confirmed;
            }
            Effect::SetGauges(totals) => self.line(&format!("{totals:?}")),
            Effect::SetListGauge(source, readable) => self.line(&format!("{source}: {readable:?}")),
            Effect::CountPoll(outcome) => self.line(outcome.as_str()),
            Effect::LogError(line) | Effect::LogWarning(line) | Effect::LogInfo(line) => self.line(&line),
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
