//! What a root context, its streams and its leader task share: the configuration, and what is served.
//!
//! Bytes from shared data must not end a VM again after its reload, neither in `configure` nor in a tick. So everything
//! here is read under a mark of [`Quarantine`].

use crate::shared_data::{EnvoySharedData, Quarantine};
use crate::{log, vm};
use burst_model::config::Config;
use burst_model::policies::EffectivePolicies;
use burst_model::quarantine::{Item, ItemKind};
use burst_model::records::{Confirmed, RequestCountKeys, SharedKeys};
use burst_model::request_rates::LatestRates;
use burst_model::serve::ServingCache;
use burst_model::time::Time;
use burst_shared_data::SharedData;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

pub(crate) struct View {
    pub(crate) config: Rc<Config>,
    pub(crate) keys: SharedKeys,
    pub(crate) cache: RefCell<ServingCache>,
    /// The request counts of all proxies, as of the last tick.
    pub(crate) rates: RefCell<LatestRates>,
    /// The policies that are objects of the cluster.
    pub(crate) policies: RefCell<EffectivePolicies>,
    /// The hash of their bytes.
    pub(crate) policies_hash: Cell<u64>,
    pub(crate) quarantine: Quarantine,
    /// When the served snapshot was confirmed. An older confirmation stays while a newer snapshot is in quarantine.
    confirmed: RefCell<Option<Confirmed>>,
    /// The key of the request counts, if the metrics APIs serve them.
    rates_key: Option<String>,
}

impl View {
    pub(crate) fn new(config: Config) -> Self {
        let keys = SharedKeys::new(config.settings_hash(), config.lists_hash());
        let serves_rates = config.requests.is_some() && config.metrics_apis.is_some();
        Self {
            cache: RefCell::default(),
            rates: RefCell::default(),
            policies: RefCell::default(),
            policies_hash: Cell::default(),
            quarantine: Quarantine::new(&keys, vm::id()),
            confirmed: RefCell::default(),
            rates_key: serves_rates.then(|| RequestCountKeys::new(config.counting_hash()).sum),
            config: Rc::new(config),
            keys,
        }
    }

    /// Takes what the leader published since the last call, and computes the age of what is served. `published` returns a
    /// snapshot that this VM has published itself, so that it need not be read from shared data.
    pub(crate) fn refresh(&self, published: impl FnOnce() -> Option<Vec<u8>>, now: Time) {
        let confirmed: Option<Confirmed> = EnvoySharedData::read(&self.keys.confirmed).record();
        self.take_snapshot(confirmed.as_ref(), published, now);
        self.cache
            .borrow_mut()
            .refresh(&self.config, self.confirmed.borrow().as_ref(), now);
        self.take_policies(confirmed.as_ref(), now);
        if let (Some(key), Some(requests)) = (&self.rates_key, &self.config.requests) {
            let sum = EnvoySharedData::read(key).bytes;
            let mut rates = self.rates.borrow_mut();
            rates.refresh(sum, requests.window, requests.total_max_age(), now);
        }
    }

    /// Takes a newer snapshot. If it is in quarantine, the one that is served stays, and ages.
    fn take_snapshot(&self, confirmed: Option<&Confirmed>, published: impl FnOnce() -> Option<Vec<u8>>, now: Time) {
        let mut cache = self.cache.borrow_mut();
        if let Some(newer) = confirmed.filter(|confirmed| cache.is_behind(confirmed)) {
            let own = published();
            let item = Item {
                kind: ItemKind::Snapshot,
                hash: newer.generation,
            };
            let taken = self.quarantine.take(item, now, || {
                cache.drop_snapshot();
                let bytes = own.unwrap_or_else(|| EnvoySharedData::read(&self.keys.snapshot).bytes);
                EnvoySharedData::before_parse(ItemKind::Snapshot, &bytes);
                cache.take(bytes)
            });
            match taken {
                None => return,
                Some(Ok(())) => {}
                Some(Err(invalid)) => log::warn(format_args!("{invalid}")),
            }
        }
        self.confirmed.replace(confirmed.cloned());
    }

    /// Takes policies that have changed. If they are in quarantine, the old ones stay in force.
    fn take_policies(&self, confirmed: Option<&Confirmed>, now: Time) {
        let Some(root) = self.config.root_namespace() else {
            return;
        };
        let mut is_marked = false;
        self.policies.borrow_mut().refresh(root, confirmed, || {
            let bytes = EnvoySharedData::read(&self.keys.policies).bytes;
            let item = Item::of_bytes(ItemKind::Policies, &bytes);
            if self.policies_hash.get() == item.hash {
                return bytes;
            }
            is_marked = self.quarantine.begin(item, now);
            if !is_marked {
                return Vec::new();
            }
            self.policies_hash.set(item.hash);
            EnvoySharedData::before_parse(ItemKind::Policies, &bytes);
            bytes
        });
        if is_marked {
            self.quarantine.end();
        }
    }
}
