//! Reads which metrics the other adapters list. The leader requests the lists, and shares them with the other threads of
//! the proxy.

use crate::calls::Calls;
use crate::host::{self, CasConflict, SharedValue};
use crate::key::{FencedKey, Term};
use crate::log;
use crate::quarantine::{LeaderGuard, Quarantine};
use crate::vm;
use burst_metrics_api::ApiVersion;
use burst_metrics_api::adapters::{self, AdapterDiscoveryError, AdapterResource, AdapterResources};
use burst_model::config::{Adapter, Config};
use burst_model::quarantine::{Item, ItemKind};
use burst_model::records::{Record, SharedKeys};
use burst_model::time::Time;
use std::rc::Rc;
use std::time::Duration;

/// As often as kube-apiserver checks an aggregated API.
const PERIOD: Duration = Duration::from_secs(30);

/// The pause after a failure. It keeps the promise that the metrics of a recovered adapter are listed within 10 s.
const RETRY: Duration = Duration::from_secs(8);

/// Reads the resource lists of the other adapters, on the leader.
#[derive(Debug)]
pub(crate) struct AdapterDiscovery {
    config: Rc<Config>,
    resources: AdapterResources,
    key: FencedKey,
    /// When the lists were requested last.
    requested: Option<Time>,
    calls: Calls<ApiVersion>,
}

impl AdapterDiscovery {
    /// Continues with what the last leader read. Returns `None` if no other adapter is configured.
    pub(crate) fn take(config: &Rc<Config>, keys: &SharedKeys, term: &Rc<Term>) -> Result<Option<Self>, CasConflict> {
        let apis = config.metrics_apis.as_ref();
        if super::COMPILED_OUT || apis.is_none_or(|apis| adapters::adapters(apis).next().is_none()) {
            return Ok(None);
        }
        let (key, bytes) = FencedKey::open(&keys.adapter_resources, term)?;
        Ok(Some(Self {
            config: config.clone(),
            resources: AdapterResources::from_bytes(&bytes).unwrap_or_default(),
            key,
            requested: None,
            calls: Calls::default(),
        }))
    }

    /// Requests the lists if that is due. Called once a tick.
    pub(crate) fn tick(&mut self, now: Time) -> Result<(), CasConflict> {
        if super::COMPILED_OUT {
            return Ok(());
        }
        let period = if self.has_failed() { RETRY } else { PERIOD };
        let is_due = self
            .requested
            .is_none_or(|requested| now >= requested.after(period) || now < requested);
        if !is_due || !self.calls.is_empty() {
            return Ok(());
        }
        self.requested = Some(now);
        let config = self.config.clone();
        for (api, adapter) in config.metrics_apis.as_deref().into_iter().flat_map(adapters::adapters) {
            match self.request(api, adapter) {
                Ok(token) => self.calls.insert(token, api),
                Err(error) => self.store(api, Err(error))?,
            }
        }
        Ok(())
    }

    fn has_failed(&self) -> bool {
        let apis = self.config.metrics_apis.as_deref();
        let mut adapters = apis.into_iter().flat_map(adapters::adapters);
        adapters.any(|(api, _)| self.resources.error(api).is_some())
    }

    fn request(&self, api: ApiVersion, Adapter { cluster, authority }: &Adapter) -> Result<u32, AdapterDiscoveryError> {
        let timeout = self.config.api.timeout;
        let sent = host::get_as(
            host::OWN_USER,
            cluster,
            authority,
            &adapters::resource_list_path(api),
            timeout,
        );
        sent.map_err(|reason| AdapterDiscoveryError::NotSent(reason.to_owned()))
    }

    /// Handles the response to a callout, which is the current one of the host. Returns whether it was that of an adapter.
    pub(crate) fn answer(
        &mut self,
        token: u32,
        has_headers: bool,
        body_size: usize,
        guard: &LeaderGuard,
    ) -> Result<bool, CasConflict> {
        if super::COMPILED_OUT {
            return Ok(false);
        }
        let Some(api) = self.calls.remove(token) else {
            return Ok(false);
        };
        let body = host::callout_body(body_size);
        if guard.admits(&body) {
            let listed = adapters::read_resource_list(host::callout_status(has_headers), &body);
            self.store(api, listed)?;
        }
        Ok(true)
    }

    /// Stores and publishes a list. Logs a line only if the state changes. The shared record has the error, so a new leader
    /// does not log it again.
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
        let had_failed = self.resources.error(api).is_some();
        if !self.resources.update(api, listed) {
            return Ok(());
        }
        self.key.write(&self.resources.to_bytes())?;
        match self.resources.error(api) {
            Some(error) => {
                log::warn(format_args!(
                    "{path} lists this filter's metrics alone, because of the other adapter: {error}"
                ));
            }
            None if had_failed => log::info(format_args!("the other adapter lists its metrics in {path} again")),
            None => {}
        }
        Ok(())
    }
}

/// The resources of the other adapters, as a thread last read them from shared data.
#[derive(Debug, Default)]
pub(crate) struct KnownAdapters {
    pub(super) resources: AdapterResources,
    /// The version of the shared data that was read.
    version: Option<host::Cas>,
}

impl KnownAdapters {
    /// Reads what the leader published.
    pub(crate) fn refresh(&mut self, key: &str, quarantine: &Quarantine) {
        if super::COMPILED_OUT {
            return;
        }
        let found = SharedValue::read(key);
        if self.version != Some(found.cas) {
            let item = Item::of_bytes(ItemKind::Offers, &found.bytes);
            if let Some(resources) = quarantine.take(item, || found.record()) {
                self.version = Some(found.cas);
                self.resources = resources.unwrap_or_default();
            }
        }
    }
}
