//! A virtual proxy: the filter's model, and what it waits for.

use crate::server::Micros;
use burst_model::config::Config;
use burst_model::kube::{Answer, Failure, Source};
use burst_model::leader::{Effect, Estate, Leader};
use burst_model::sync::backoff::Backoff;
use burst_model::sync::life::Request;
use burst_model::sync::poller::{Ask, SourceId};
use burst_model::time::Time;
use std::rc::Rc;
use std::time::Duration;

/// As the filter's root context has it.
pub const TICK: Duration = Duration::from_secs(1);

/// A tick comes early by as much as the one before it came late.
const EARLY: Duration = Duration::from_millis(250);

/// What a proxy asks for.
#[derive(Debug)]
pub enum Asks {
    /// The API server, for that list.
    Api(SourceId, Request),
    /// A hub.
    Hub,
}

/// What comes back.
#[derive(Debug)]
pub enum Answered {
    /// By the API server.
    Api(SourceId, Result<Answer, Failure>),
    /// By a hub, which read the cluster then.
    Hub(Result<Option<Time>, Failure>),
}

/// A proxy.
#[derive(Debug)]
pub struct Proxy {
    reader: Reader,
    /// When the oldest list of its picture was read.
    pub read: Option<Time>,
}

#[derive(Debug)]
enum Reader {
    Leader(Box<Leader>),
    Spoke(Spoke),
}

/// Asks a hub each interval, and after a failure as the leader does.
#[derive(Debug)]
struct Spoke {
    interval: Duration,
    /// `None` while it waits for an answer.
    due: Option<Time>,
    asked: Time,
    backoff: Backoff,
}

impl Proxy {
    /// One that reads the API server.
    #[must_use]
    pub fn leader(config: Rc<Config>, now: Time) -> Self {
        let leader = Leader::new(config, Estate::default(), now);
        Self {
            reader: Reader::Leader(Box::new(leader)),
            read: None,
        }
    }

    /// One that reads a hub.
    #[must_use]
    pub fn spoke(config: &Config, now: Time) -> Self {
        let spoke = Spoke {
            interval: config.poll_interval,
            due: Some(now),
            asked: now,
            backoff: Backoff::default(),
        };
        Self {
            reader: Reader::Spoke(spoke),
            read: None,
        }
    }

    /// What a list lists.
    #[must_use]
    pub fn source(&self, id: SourceId) -> Option<&Source> {
        match &self.reader {
            Reader::Leader(leader) => leader.source(id),
            Reader::Spoke(_) => None,
        }
    }

    /// Once a second.
    pub fn tick(&mut self, now: Time) -> Vec<Asks> {
        match &mut self.reader {
            Reader::Leader(leader) => {
                let effects = leader.tick(now);
                self.follow(effects)
            }
            Reader::Spoke(spoke) => spoke.tick(now).into_iter().collect(),
        }
    }

    /// Takes an answer.
    pub fn answer(&mut self, answered: Answered, now: Time, chance: u32) -> Vec<Asks> {
        match (&mut self.reader, answered) {
            (Reader::Leader(leader), Answered::Api(id, answer)) => {
                let effects = leader.answer(id, answer, now, chance);
                self.follow(effects)
            }
            (Reader::Spoke(spoke), Answered::Hub(answer)) => {
                if let Some(read) = spoke.answer(answer, now, chance) {
                    self.read = self.read.max(Some(read));
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn follow(&mut self, effects: Vec<Effect>) -> Vec<Asks> {
        let mut asks = Vec::new();
        for effect in effects {
            match effect {
                Effect::Ask(Ask { source, request }) => asks.push(Asks::Api(source, request)),
                Effect::Confirm(confirmed) => self.read = confirmed.oldest(),
                _ => {}
            }
        }
        asks
    }
}

impl Spoke {
    fn tick(&mut self, now: Time) -> Option<Asks> {
        self.due.take_if(|due| *due <= now)?;
        self.asked = now;
        Some(Asks::Hub)
    }

    fn answer(&mut self, answer: Result<Option<Time>, Failure>, now: Time, chance: u32) -> Option<Time> {
        match answer {
            Ok(read) => {
                self.backoff.succeeded();
                self.due = Some(self.asked.after(self.interval.saturating_sub(EARLY)));
                read
            }
            Err(failure) => {
                self.due = Some(now.after(self.backoff.failed(failure.retry_after(), chance)));
                None
            }
        }
    }
}

/// A moment of the simulation as the model has it.
#[must_use]
pub fn time(at: Micros) -> Time {
    // Far from the epoch, so that nothing lies before it.
    Time::from_unix_millis(1_700_000_000_000 + at / 1_000)
}
