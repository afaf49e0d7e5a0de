//! What the holder of the office reads: the lists of the Kubernetes API, or the Services of a hub.

use crate::host;
use burst_model::config::{Config, Origin};
use burst_model::confirmation;
use burst_model::kube::{self, Failure, Progress, Verb};
use burst_model::leader::{Effect, Estate, Heir, Leader};
use burst_model::spoke::{self, LARGEST_ANSWER, Question, Spoke};
use burst_model::sync::poller::{Ask, SourceId};
use burst_model::time::Time;
use std::rc::Rc;
use std::time::Duration;

/// One of the two, or who is about to read a cluster.
#[derive(Debug)]
pub(crate) enum Reader {
    Heir(Box<Heir>),
    Cluster(Box<Leader>),
    Hub(Spoke),
}

/// What a callout under way was for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    List(SourceId, Verb),
    Hub,
}

/// What a call brought.
pub(crate) enum Ended {
    List(SourceId, Result<kube::Answer, Failure>),
    Hub(Result<spoke::Answer, Failure>),
}

impl Ended {
    /// One that could not be sent.
    pub(crate) fn not_sent(call: Call, reason: String) -> Self {
        let failure = Failure::NotSent(reason);
        match call {
            Call::List(id, _) => Self::List(id, Err(failure)),
            Call::Hub => Self::Hub(Err(failure)),
        }
    }
}

/// A callout to be sent.
pub(crate) struct Request {
    pub(crate) call: Call,
    pub(crate) path: String,
    pub(crate) if_none_match: Option<String>,
    /// How long the server takes for the answer on purpose.
    pub(crate) lasts: Duration,
}

impl From<Ask> for Request {
    fn from(Ask { source, request }: Ask) -> Self {
        Self {
            call: Call::List(source, request.verb),
            path: request.path,
            if_none_match: None,
            lasts: request.lasts,
        }
    }
}

impl From<Question> for Request {
    fn from(Question { path, if_none_match }: Question) -> Self {
        Self {
            call: Call::Hub,
            path,
            if_none_match,
            lasts: Duration::ZERO,
        }
    }
}

/// The answer to a callout, which the host has laid open.
#[derive(Clone, Copy)]
pub(crate) struct Answered {
    pub(crate) has_headers: bool,
    pub(crate) body_size: usize,
}

impl Answered {
    fn status(self) -> Option<u16> {
        host::answer_status(self.has_headers)
    }

    fn header(self, name: &str) -> Option<Vec<u8>> {
        self.has_headers.then(|| host::answer_header(name)).flatten()
    }

    fn of_the_api<T>(self, read: impl FnOnce(kube::Response<'_>) -> T) -> T {
        let (content_type, retry_after) = (self.header("content-type"), self.header("retry-after"));
        read(kube::Response {
            status: self.status(),
            content_type: content_type.as_deref(),
            retry_after: retry_after.as_deref(),
            body: &host::answer_body(self.body_size),
        })
    }

    fn of_a_hub<T>(self, read: impl FnOnce(spoke::Response<'_>) -> T) -> T {
        let names = [confirmation::HEADER, "etag", "retry-after"];
        let [confirmed, etag, retry_after] = names.map(|name| self.header(name));
        read(spoke::Response {
            status: self.status(),
            confirmed: confirmed.as_deref(),
            etag: etag.as_deref(),
            retry_after: retry_after.as_deref(),
            // One byte more than is looked at tells that there are more.
            body: &host::answer_body(self.body_size.min(LARGEST_ANSWER + 1)),
        })
    }
}

impl Reader {
    /// Takes over; `resume` is asked for where the objects that were left are wanted.
    pub(crate) fn new(config: Rc<Config>, estate: Estate, resume: impl FnOnce() -> Vec<u8>, now: Time) -> Self {
        match &config.origin {
            Origin::Kubernetes => Self::Heir(Heir::new(config, estate, resume()).into()),
            Origin::Hub { path } => Self::Hub(Spoke::new(config.clone(), path, estate, now)),
        }
    }

    /// Whether what the last leader left is still being read.
    pub(crate) fn is_heir(&self) -> bool {
        matches!(self, Self::Heir(_))
    }

    /// What may be parsed is other than it was.
    pub(crate) fn reconsider(&mut self) {
        match self {
            Self::Heir(_) => {}
            Self::Cluster(leader) => leader.reconsider(),
            Self::Hub(spoke) => spoke.reconsider(),
        }
    }

    pub(crate) fn is_resting(&self, now: Time) -> bool {
        match self {
            Self::Heir(_) => false,
            Self::Cluster(leader) => leader.is_resting(now),
            Self::Hub(spoke) => spoke.is_resting(now),
        }
    }

    /// Whether there is work left that waits for nobody. What a hub says is taken at once.
    pub(crate) fn is_busy(&self) -> bool {
        match self {
            Self::Heir(_) => true,
            Self::Cluster(leader) => leader.is_busy(),
            Self::Hub(_) => false,
        }
    }

    /// Does a part of that work.
    pub(crate) fn go_on(&mut self, now: Time) -> Vec<Effect> {
        match self {
            Self::Heir(heir) => match heir.go_on(now) {
                Some(leader) => {
                    *self = Self::Cluster(leader.into());
                    self.tick(now)
                }
                None => Vec::new(),
            },
            Self::Cluster(leader) => leader.go_on(now),
            Self::Hub(_) => Vec::new(),
        }
    }

    /// Lets go of a part of what it holds; whether there was any left.
    pub(crate) fn let_go(&mut self) -> bool {
        match self {
            Self::Cluster(leader) => leader.let_go(),
            Self::Heir(_) | Self::Hub(_) => false,
        }
    }

    pub(crate) fn tick(&mut self, now: Time) -> Vec<Effect> {
        match self {
            Self::Heir(_) => self.go_on(now),
            Self::Cluster(leader) => leader.tick(now),
            Self::Hub(spoke) => spoke.tick(now),
        }
    }

    /// Reads the answer to a call; `None` where nobody waits for it.
    pub(crate) fn read(&self, call: Call, answered: Answered, progress: &mut dyn Progress) -> Option<Ended> {
        match (self, call) {
            (Self::Cluster(leader), Call::List(id, verb)) => {
                let source = leader.source(id)?;
                let answer = answered.of_the_api(|response| kube::answer::read(source, verb, response, progress));
                Some(Ended::List(id, answer))
            }
            (Self::Hub(_), Call::Hub) => Some(Ended::Hub(
                answered.of_a_hub(|response| spoke::read(response, progress)),
            )),
            _ => None,
        }
    }

    /// Takes what a call brought.
    pub(crate) fn take(&mut self, ended: Ended, now: Time, chance: u32) -> Vec<Effect> {
        match (self, ended) {
            (Self::Cluster(leader), Ended::List(id, answer)) => leader.answer(id, answer, now, chance),
            (Self::Hub(spoke), Ended::Hub(answer)) => spoke.answer(answer, now, chance),
            _ => Vec::new(),
        }
    }
}
