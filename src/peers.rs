//! Reads the peers, on the leader: sends the requests to the other clusters, and passes the answers on.

use crate::callouts::{self, Callout, CalloutEvent, LeaderPurpose, Purpose};
use crate::log;
use crate::shared_data::{LeaderGuard, PeersLeader, Term, View};
use crate::vm;
use burst_model::config::Part;
use burst_model::hub_request::HubRequest;
use burst_model::time::Time;
use burst_shared_data::{CasConflict, PeerEffect};
use std::rc::Rc;

/// The header-only module has no peers. This constant lets the compiler leave out the code that reads them.
const COMPILED_OUT: bool = cfg!(feature = "header-only");

/// The peers of a leader.
pub(crate) struct PeersTask {
    view: Rc<View>,
    inner: PeersLeader,
}

impl PeersTask {
    /// Continues with what the last leader read. Returns `None` if no peers are configured.
    pub(crate) fn start(view: &Rc<View>, term: &Rc<Term>, now: Time) -> Result<Option<Self>, CasConflict> {
        if COMPILED_OUT {
            return Ok(None);
        }
        let inner = PeersLeader::start(view, term, now)?;
        Ok(inner.map(|inner| Self {
            view: view.clone(),
            inner,
        }))
    }

    /// Sends the requests that are due. Called once a tick.
    pub(crate) fn tick(&mut self, now: Time) -> Result<(), CasConflict> {
        if COMPILED_OUT {
            return Ok(());
        }
        let effects = self.inner.tick(now)?;
        self.apply(effects);
        Ok(())
    }

    /// Handles what happened to the request to the peer of that index.
    pub(crate) fn on_callout(
        &mut self,
        index: usize,
        event: CalloutEvent<'_>,
        guard: &mut LeaderGuard,
        now: Time,
    ) -> Result<(), CasConflict> {
        if COMPILED_OUT {
            return Ok(());
        }
        let effects = self.inner.on_event(index, event, guard, now)?;
        self.apply(effects);
        Ok(())
    }

    /// Checks that shared data holds what it wrote.
    pub(crate) fn check_keys(&self) -> Result<(), CasConflict> {
        if COMPILED_OUT {
            return Ok(());
        }
        self.inner.check_keys()
    }

    /// Reads excluded Services again; called when the quarantine has changed.
    pub(crate) fn requeue_skipped(&mut self) {
        if !COMPILED_OUT {
            self.inner.requeue_skipped();
        }
    }

    fn apply(&self, effects: Vec<PeerEffect>) {
        for effect in effects {
            match effect {
                PeerEffect::Request(index, request) => self.send(index, request),
                PeerEffect::CountPoll(outcome) => vm::stats().count_peer_poll(outcome),
                PeerEffect::LogWarning(line) => log::warn(format_args!("{line}")),
                PeerEffect::LogInfo(line) => log::info(format_args!("{line}")),
            }
        }
    }

    fn send(&self, index: usize, request: HubRequest) {
        let config = &self.view.config;
        let peers = config.peers.as_deref();
        let Some(peer) = peers.and_then(|peers| peers.peers.get(index)) else {
            return;
        };
        let if_none_match = request.if_none_match.map(|tag| ("if-none-match", tag));
        callouts::queue(Callout {
            purpose: Purpose::Leader(Part::Metrics, LeaderPurpose::Peer(index)),
            cluster: peer.cluster.clone(),
            authority: peer.authority.clone(),
            method: "GET",
            path: request.path,
            headers: [callouts::accept_json()].into_iter().chain(if_none_match).collect(),
            body: None,
            timeout: config.api.timeout.saturating_add(request.wait),
            stream: None,
        });
    }
}
