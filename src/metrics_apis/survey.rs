//! The leader's part in other adapters: it asks each what it has, and tells the proxy's other threads.

use crate::calls::Calls;
use crate::host::{self, CasConflict, SharedValue};
use crate::key::{FencedKey, Term};
use crate::log;
use crate::quarantine::{LeaderGuard, Quarantine};
use crate::vm;
use burst_model::config::{Adapter, Config};
use burst_model::quarantine::{Item, ItemKind};
use burst_model::records::{Record, SharedKeys};
use burst_model::serve::metrics::Api;
use burst_model::serve::metrics::others::{self, Offers, Unlisted};
use burst_model::time::Time;
use std::rc::Rc;
use std::time::Duration;

/// As often as the API server looks at an aggregated API.
const PERIOD: Duration = Duration::from_secs(30);

/// Until an adapter that did not answer is asked again: one that is back is listed within 10 s.
const RETRY: Duration = Duration::from_secs(8);

/// What is known of the other adapters, by the leader.
#[derive(Debug)]
pub(crate) struct Survey {
    config: Rc<Config>,
    offers: Offers,
    key: FencedKey,
    asked: Option<Time>,
    calls: Calls<Api>,
}

impl Survey {
    /// Takes over, where there are other adapters.
    pub(crate) fn take(config: &Rc<Config>, keys: &SharedKeys, tenure: &Rc<Term>) -> Result<Option<Self>, CasConflict> {
        let apis = config.metrics_apis.as_ref();
        if super::ARE_LEFT_OUT || apis.is_none_or(|apis| others::asked(apis).next().is_none()) {
            return Ok(None);
        }
        let (key, bytes) = FencedKey::open(&keys.adapter_resources, tenure)?;
        Ok(Some(Self {
            config: config.clone(),
            offers: Offers::from_bytes(&bytes).unwrap_or_default(),
            key,
            asked: None,
            calls: Calls::default(),
        }))
    }

    /// Once a tick.
    pub(crate) fn tick(&mut self, now: Time) -> Result<(), CasConflict> {
        if super::ARE_LEFT_OUT {
            return Ok(());
        }
        let period = if self.has_failed() { RETRY } else { PERIOD };
        let is_due = self.asked.is_none_or(|asked| now >= asked.after(period) || now < asked);
        if !is_due || !self.calls.is_empty() {
            return Ok(());
        }
        self.asked = Some(now);
        let config = self.config.clone();
        for (api, adapter) in config.metrics_apis.as_deref().into_iter().flat_map(others::asked) {
            match self.ask(api, adapter) {
                Ok(token) => self.calls.insert(token, api),
                Err(unlisted) => self.learn(api, Err(unlisted))?,
            }
        }
        Ok(())
    }

    fn has_failed(&self) -> bool {
        let apis = self.config.metrics_apis.as_deref();
        let mut asked = apis.into_iter().flat_map(others::asked);
        asked.any(|(api, _)| self.offers.trouble(api).is_some())
    }

    fn ask(&self, api: Api, Adapter { cluster, authority }: &Adapter) -> Result<u32, Unlisted> {
        let timeout = self.config.api.timeout;
        let sent = host::get_as(host::OWN_USER, cluster, authority, &others::path(api), timeout);
        sent.map_err(|reason| Unlisted::NotSent(reason.to_owned()))
    }

    /// Takes the answer to a callout, which is the current one of the host; whether it was one of these.
    pub(crate) fn answer(
        &mut self,
        token: u32,
        has_headers: bool,
        body_size: usize,
        guard: &LeaderGuard,
    ) -> Result<bool, CasConflict> {
        if super::ARE_LEFT_OUT {
            return Ok(false);
        }
        let Some(api) = self.calls.remove(token) else {
            return Ok(false);
        };
        let body = host::callout_body(body_size);
        if guard.admits(&body) {
            let listed = others::read(host::callout_status(has_headers), &body);
            self.learn(api, listed)?;
        }
        Ok(true)
    }

    /// One line for a change of state, not one for every failure; what fails is in the record, so a successor says no
    /// line again.
    fn learn(&mut self, api: Api, listed: Result<Vec<others::Offer>, Unlisted>) -> Result<(), CasConflict> {
        let (stats, path) = (vm::stats(), others::path(api));
        match &listed {
            Ok(_) => stats.offers_ok.count(),
            Err(_) => stats.offers_failed.count(),
        }
        let failed = self.offers.trouble(api).is_some();
        if !self.offers.put(api, listed) {
            return Ok(());
        }
        self.key.write(&self.offers.to_bytes())?;
        match self.offers.trouble(api) {
            Some(unlisted) => {
                log::warn(format_args!(
                    "{path} lists this filter's metrics alone, because of the other adapter: {unlisted}"
                ));
            }
            None if failed => log::info(format_args!("the other adapter tells again what it has in {path}")),
            None => {}
        }
        Ok(())
    }
}

/// What every thread knows of the other adapters.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(super) offers: Offers,
    version: Option<host::Cas>,
}

impl Known {
    /// Takes up what the leader published.
    pub(crate) fn look(&mut self, key: &str, quarantine: &Quarantine) {
        if super::ARE_LEFT_OUT {
            return;
        }
        let found = SharedValue::read(key);
        if self.version != Some(found.cas) {
            let item = Item::of_bytes(ItemKind::AdapterResources, &found.bytes);
            if let Some(offers) = quarantine.take(item, || found.record()) {
                self.version = Some(found.cas);
                self.offers = offers.unwrap_or_default();
            }
        }
    }
}
