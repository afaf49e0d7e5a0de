//! Requests the resource lists of the other adapters, on the leader, and shares them with the other VMs of the proxy.

use crate::callouts::{self, Callout, LeaderPurpose, Purpose};
use crate::host::CalloutAnswer;
use crate::log;
use crate::shared_data::{FencedKey, LeaderGuard, Term, View};
use crate::vm;
use burst_metrics_api::ApiVersion;
use burst_metrics_api::adapters::{self, AdapterRequest, AdapterResources, DISCOVERY_USER};
use burst_model::config::{Config, Part};
use burst_model::records::Record;
use burst_model::time::Time;
use burst_shared_data::CasConflict;
use std::rc::Rc;

#[derive(Debug)]
pub(crate) struct AdapterDiscoveryTask {
    config: Rc<Config>,
    inner: adapters::AdapterDiscovery,
    key: FencedKey,
}

impl AdapterDiscoveryTask {
    /// Continues with what the last leader read. Returns `None` if no other adapter is configured.
    pub(crate) fn start(view: &View, term: &Rc<Term>) -> Result<Option<Self>, CasConflict> {
        let apis = view.config.metrics_apis.as_deref();
        let with_adapters = apis.filter(|apis| adapters::adapters(apis).next().is_some());
        let Some(apis) = with_adapters.filter(|_| !super::COMPILED_OUT) else {
            return Ok(None);
        };
        let (key, bytes) = FencedKey::open(&view.keys.adapter_resources, term)?;
        let resources = AdapterResources::from_bytes(&bytes).unwrap_or_default();
        Ok(Some(Self {
            config: view.config.clone(),
            inner: adapters::AdapterDiscovery::new(resources, apis),
            key,
        }))
    }

    /// Requests the lists if that is due. Called once a tick.
    pub(crate) fn tick(&mut self, now: Time) {
        if super::COMPILED_OUT {
            return;
        }
        if let Some(apis) = self.config.metrics_apis.as_deref() {
            let requests = self.inner.tick(apis, now);
            requests.into_iter().for_each(|request| self.send(request));
        }
    }

    /// Checks that shared data holds what it wrote.
    pub(crate) fn check_key(&self) -> Result<(), CasConflict> {
        self.key.check()
    }

    fn send(&self, request: AdapterRequest) {
        let user = DISCOVERY_USER.map(|(name, value)| (name, value.to_owned()));
        callouts::queue(Callout {
            purpose: Purpose::Leader(Part::Metrics, LeaderPurpose::AdapterResources(request.api)),
            cluster: request.cluster,
            authority: request.authority,
            method: "GET",
            path: request.path,
            headers: [callouts::accept_json()].into_iter().chain(user).collect(),
            body: None,
            timeout: self.config.api.timeout,
            stream: None,
        });
    }

    /// Handles the answer of an adapter, or why it could not be asked.
    pub(crate) fn on_callout(
        &mut self,
        api: ApiVersion,
        answer: Result<CalloutAnswer, String>,
        guard: &LeaderGuard,
    ) -> Result<(), CasConflict> {
        let Some(apis) = self.config.metrics_apis.as_deref().filter(|_| !super::COMPILED_OUT) else {
            return Ok(());
        };
        let Some(answer) = self.inner.on_response(apis, api, answer, |body| guard.admits(body)) else {
            return Ok(());
        };
        let stats = vm::stats();
        if answer.is_ok {
            stats.offers_ok.count();
        } else {
            stats.offers_failed.count();
        }
        // Published before the log line: a new leader knows the failure from the record and does not log it again.
        if let Some(record) = &answer.record {
            self.key.write(record)?;
        }
        let path = adapters::resource_list_path(api);
        log::state_change(
            answer.change.as_ref(),
            &format!("{path} lists this filter's metrics alone, because of the other adapter"),
            &format!("the other adapter lists its metrics in {path} again"),
        );
        for alias in &answer.taken_aliases {
            log::warn(format_args!(
                "metrics_apis.aliases.{alias} is not used: the other adapter has a metric of that name, and serves it"
            ));
        }
        for alias in &answer.freed_aliases {
            log::info(format_args!(
                "metrics_apis.aliases.{alias} is used: the other adapter has no metric of that name any more"
            ));
        }
        Ok(())
    }
}
