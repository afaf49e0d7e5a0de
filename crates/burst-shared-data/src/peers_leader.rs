//! The leader's work on the peers: it reads a proxy of each other cluster, and writes what it found under keys of their own.

use crate::cluster_leader::{ReadEvent, intact_snapshot};
use crate::fenced_key::{FencedKey, Term};
use crate::leader_guard::LeaderGuard;
use crate::shared_data::{CasConflict, SharedData};
use crate::view::View;
use burst_model::cluster_reader::{HttpResponse, parse_hub};
use burst_model::config::PeerConfig;
use burst_model::hash;
use burst_model::hub_client::{HubClient, HubSource};
use burst_model::hub_request::HubRequest;
use burst_model::kube::{Failure, PollOutcome};
use burst_model::leader::{Effect, Handover};
use burst_model::records::{PeerKeys, Record};
use burst_model::time::Time;
use std::rc::Rc;

/// The leader's work on the peers, for one term.
#[derive(Debug)]
pub struct PeersLeader<H> {
    /// In the order of the configuration.
    peers: Vec<PeerLeader<H>>,
    /// The responses that were handled, as a seed of the jitter.
    responses: u32,
}

#[derive(Debug)]
struct PeerLeader<H> {
    client: HubClient,
    snapshot: FencedKey<H>,
    confirmed: FencedKey<H>,
    failures: FencedKey<H>,
}

/// An effect that is no write to shared data.
#[derive(Debug)]
pub enum PeerEffect {
    /// Send this request to the peer of that index. [`PeersLeader::on_event`] has to follow.
    Request(usize, HubRequest),
    /// Count the outcome of a request.
    CountPoll(PollOutcome),
    /// Log a warning.
    LogWarning(String),
    /// Log that something works again.
    LogInfo(String),
}

impl<H: SharedData> PeersLeader<H> {
    /// Begins a term with what the last leader left. Returns `None` if no peers are configured.
    ///
    /// # Errors
    /// Another VM leads now.
    pub fn start(view: &View<H>, term: &Rc<Term<H>>, now: Time) -> Result<Option<Self>, CasConflict> {
        let Some(config) = view.config.peers.as_deref() else {
            return Ok(None);
        };
        let peers = config.peers.iter().map(|peer| PeerLeader::start(view, peer, term, now));
        Ok(Some(Self {
            peers: peers.collect::<Result<_, _>>()?,
            responses: 0,
        }))
    }

    /// Called once a tick.
    ///
    /// # Errors
    /// Another VM leads now.
    pub fn tick(&mut self, now: Time) -> Result<Vec<PeerEffect>, CasConflict> {
        let mut host_effects = Vec::new();
        for (index, peer) in self.peers.iter_mut().enumerate() {
            let effects = peer.client.tick(now);
            peer.apply(index, effects, &mut host_effects)?;
        }
        Ok(host_effects)
    }

    /// Handles what happened to the request to the peer of that index.
    ///
    /// # Errors
    /// Another VM leads now.
    pub fn on_event(
        &mut self,
        index: usize,
        event: ReadEvent<'_, impl HttpResponse>,
        guard: &mut LeaderGuard<H>,
        now: Time,
    ) -> Result<Vec<PeerEffect>, CasConflict> {
        let mut host_effects = Vec::new();
        let Some(peer) = self.peers.get_mut(index) else {
            return Ok(host_effects);
        };
        let payload = match event {
            ReadEvent::Ended(_, response) => {
                let payload = parse_hub(peer.client.expected_cluster(), &response, guard);
                // If the VM traps from here on, no object is the cause.
                guard.begin_work();
                payload
            }
            ReadEvent::Refused(reason) => Err(Failure::NotSent(reason)),
            ReadEvent::TimedOut => Err(Failure::Timeout),
            // The response of a peer is read when it is complete.
            ReadEvent::Opened(_) | ReadEvent::Accepted(_) | ReadEvent::Chunk(..) => return Ok(host_effects),
        };
        self.responses = self.responses.wrapping_add(1);
        let chance = hash::of(&(now.unix_millis(), index, self.responses)) >> 32;
        let effects = peer
            .client
            .handle_response(payload, now, u32::try_from(chance).unwrap_or_default());
        peer.apply(index, effects, &mut host_effects)?;
        Ok(host_effects)
    }

    /// Reads excluded Services again. Call it when the quarantine has changed.
    pub fn requeue_skipped(&mut self) {
        self.peers.iter_mut().for_each(|peer| peer.client.requeue_skipped());
    }

    /// Checks that the keys of the peers hold what this leader wrote.
    ///
    /// # Errors
    /// Another VM leads now, or something else wrote a key.
    pub fn check_keys(&self) -> Result<(), CasConflict> {
        self.peers
            .iter()
            .flat_map(|peer| [&peer.snapshot, &peer.confirmed, &peer.failures])
            .try_for_each(FencedKey::check)
    }
}

impl<H: SharedData> PeerLeader<H> {
    fn start(view: &View<H>, peer: &PeerConfig, term: &Rc<Term<H>>, now: Time) -> Result<Self, CasConflict> {
        let keys = PeerKeys::new(view.config.metrics_hash(), peer);
        let (snapshot, snapshot_bytes) = FencedKey::open(&keys.snapshot, term)?;
        let (confirmed, confirmed_bytes) = FencedKey::open(&keys.confirmed, term)?;
        let (failures, failures_bytes) = FencedKey::open(&keys.failures, term)?;
        let last_confirmed = Record::from_bytes(&confirmed_bytes);
        let handover = Handover {
            snapshot: intact_snapshot(snapshot_bytes, last_confirmed.as_ref()),
            confirmed: last_confirmed,
            failures: Record::from_bytes(&failures_bytes),
            ..Handover::default()
        };
        Ok(Self {
            client: HubClient::new(view.config.clone(), HubSource::peer(peer), handover, now),
            snapshot,
            confirmed,
            failures,
        })
    }

    /// Writes the records of effects, and adds the effects without one to `host_effects`.
    fn apply(
        &mut self,
        index: usize,
        effects: Vec<Effect>,
        host_effects: &mut Vec<PeerEffect>,
    ) -> Result<(), CasConflict> {
        for effect in effects {
            match effect {
                Effect::PublishSnapshot(snapshot) => self.snapshot.write(&snapshot)?,
                Effect::Confirm(confirmed) => self.confirmed.write(&confirmed.to_bytes())?,
                Effect::RecordFailures(failures) => self.failures.write(&failures.to_bytes())?,
                Effect::RequestHub(request) => host_effects.push(PeerEffect::Request(index, request)),
                Effect::CountPoll(outcome) => host_effects.push(PeerEffect::CountPoll(outcome)),
                Effect::LogError(line) | Effect::LogWarning(line) => host_effects.push(PeerEffect::LogWarning(line)),
                Effect::LogInfo(line) => host_effects.push(PeerEffect::LogInfo(line)),
                // The gauges are about the own cluster, and the client of a hub has none of the other effects.
                Effect::SetGauges(_)
                | Effect::SetListGauge(..)
                | Effect::Request(_)
                | Effect::PublishPolicies(_)
                | Effect::WriteCheckpoint(_)
                | Effect::CloseStream(_) => {}
            }
        }
        Ok(())
    }
}
