//! Reads which metrics the other adapters list. The leader requests the lists, and shares them with the other threads of
//! the proxy.

use crate::callouts::{self, Callout, LeaderPurpose, Purpose};
use crate::host::CalloutAnswer;
use crate::log;
use crate::shared_data::{EnvoySharedData, FencedKey, LeaderGuard, Quarantine, Term};
use crate::view::View;
use crate::vm;
use burst_metrics_api::ApiVersion;
use burst_metrics_api::adapters::{self, AdapterDiscoveryError, AdapterResource, AdapterResources};
use burst_model::cluster_reader::HttpResponse;
use burst_model::config::Config;
use burst_model::failure_state::{FailureState, StateChange};
use burst_model::quarantine::{Item, ItemKind};
use burst_model::records::Record;
use burst_model::time::Time;
use burst_shared_data::{Cas, CasConflict, SharedData};
use std::rc::Rc;
use std::time::Duration;

/// As often as kube-apiserver checks an aggregated API.
const PERIOD: Duration = Duration::from_secs(30);

/// The pause after a failure. It keeps the promise that the metrics of a recovered adapter are listed within 10 s.
const RETRY: Duration = Duration::from_secs(8);

/// The user of the filter's own requests to an adapter, which trusts the proxy as kube-apiserver's front proxy. Any
/// authenticated user may discover APIs.
const USER: [(&str, &str); 2] = [
    ("x-remote-user", "system:burst-metrics"),
    ("x-remote-group", "system:authenticated"),
];

/// Reads the resource lists of the other adapters, on the leader.
#[derive(Debug)]
pub(crate) struct AdapterDiscovery {
    config: Rc<Config>,
    resources: AdapterResources,
    key: FencedKey,
    /// When the lists were requested last.
    requested: Option<Time>,
    under_way: usize,
}

impl AdapterDiscovery {
    /// Continues with what the last leader read. Returns `None` if no other adapter is configured.
    pub(crate) fn start(view: &View, term: &Rc<Term>) -> Result<Option<Self>, CasConflict> {
        let apis = view.config.metrics_apis.as_ref();
        if super::COMPILED_OUT || apis.is_none_or(|apis| adapters::adapters(apis).next().is_none()) {
            return Ok(None);
        }
        let (key, bytes) = FencedKey::open(&view.keys.adapter_resources, term)?;
        Ok(Some(Self {
            config: view.config.clone(),
            resources: AdapterResources::from_bytes(&bytes).unwrap_or_default(),
            key,
            requested: None,
            under_way: 0,
        }))
    }

    /// Requests the lists if that is due. Called once a tick.
    pub(crate) fn tick(&mut self, now: Time) {
        let period = if self.has_failed() { RETRY } else { PERIOD };
        let is_due = self
            .requested
            .is_none_or(|requested| now >= requested.after(period) || now < requested);
        if super::COMPILED_OUT || !is_due || self.under_way > 0 {
            return;
        }
        self.requested = Some(now);
        for (api, adapter) in self
            .config
            .metrics_apis
            .as_deref()
            .into_iter()
            .flat_map(adapters::adapters)
        {
            self.under_way += 1;
            let user = USER.map(|(name, value)| (name, value.to_owned()));
            callouts::queue(Callout {
                purpose: Purpose::Leader(LeaderPurpose::AdapterResources(api)),
                cluster: adapter.cluster.clone(),
                authority: adapter.authority.clone(),
                method: "GET",
                path: adapters::resource_list_path(api),
                headers: [callouts::accept_json()].into_iter().chain(user).collect(),
                body: None,
                timeout: self.config.api.timeout,
            });
        }
    }

    fn has_failed(&self) -> bool {
        let apis = self.config.metrics_apis.as_deref();
        let mut adapters = apis.into_iter().flat_map(adapters::adapters);
        adapters.any(|(api, _)| self.resources.error(api).is_some())
    }

    /// Handles the answer of an adapter, or why it could not be asked.
    pub(crate) fn on_callout(
        &mut self,
        api: ApiVersion,
        answer: Result<CalloutAnswer, String>,
        guard: &LeaderGuard,
    ) -> Result<(), CasConflict> {
        if super::COMPILED_OUT {
            return Ok(());
        }
        self.under_way = self.under_way.saturating_sub(1);
        let listed = match answer {
            Ok(answer) => {
                let body = answer.body(usize::MAX);
                if !guard.admits(&body) {
                    return Ok(());
                }
                adapters::read_resource_list(answer.status(), &body)
            }
            Err(reason) => Err(AdapterDiscoveryError::NotSent(reason)),
        };
        self.store(api, listed)
    }

    /// Stores and publishes a list. The shared record has the failure, so a new leader does not log it again.
    fn store(
        &mut self,
        api: ApiVersion,
        listed: Result<Vec<AdapterResource>, AdapterDiscoveryError>,
    ) -> Result<(), CasConflict> {
        let (stats, path) = (vm::stats(), adapters::resource_list_path(api));
        match &listed {
            Ok(_) => stats.offers_ok.count(),
            Err(_) => stats.offers_failed.count(),
        }
        let mut state = FailureState::new(self.resources.error(api).cloned());
        let outcome = listed.as_ref().map(drop).map_err(Clone::clone);
        if !self.resources.update(api, listed) {
            return Ok(());
        }
        self.key.write(&self.resources.to_bytes())?;
        match state.update(outcome) {
            Some(StateChange::Failed(failure)) => {
                log::warn(format_args!(
                    "{path} lists this filter's metrics alone, because of the other adapter: {failure}"
                ));
            }
            Some(StateChange::Recovered) => {
                log::info(format_args!("the other adapter lists its metrics in {path} again"));
            }
            None => {}
        }
        Ok(())
    }
}

/// The resources of the other adapters, as a thread last read them from shared data.
#[derive(Debug, Default)]
pub(super) struct KnownAdapters {
    pub(super) resources: AdapterResources,
    /// The version of the shared data that was read.
    version: Option<Cas>,
}

impl KnownAdapters {
    /// Reads what the leader published.
    pub(super) fn refresh(&mut self, key: &str, quarantine: &Quarantine, now: Time) {
        if super::COMPILED_OUT {
            return;
        }
        let found = EnvoySharedData::read(key);
        if self.version != Some(found.cas) {
            let item = Item::of_bytes(ItemKind::AdapterResources, &found.bytes);
            if let Some(resources) = quarantine.take(item, now, || found.record()) {
                self.version = Some(found.cas);
                self.resources = resources.unwrap_or_default();
            }
        }
    }
}
