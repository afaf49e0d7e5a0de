//! What one part of a configuration serves in one VM: the records of the leader, as this VM last read them.
//!
//! Bytes from shared data must not end a VM again after its reload, neither in `configure` nor in a tick. So everything
//! here is read under a mark of [`Quarantine`].

use crate::ids::LazyId;
use crate::peers_view::PeersView;
use crate::quarantine::Quarantine;
use crate::shared_data::SharedData;
use burst_model::config::{Config, Part};
use burst_model::policies::EffectivePolicies;
use burst_model::quarantine::{Item, ItemKind};
use burst_model::records::{Confirmed, PreviousKeys, RequestCountKeys, SharedKeys};
use burst_model::request_rates::{LatestRates, Rates};
use burst_model::serve::ServingCache;
use burst_model::snapshot::InvalidSnapshot;
use burst_model::time::Time;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// The time until a refused snapshot is tried again. Each further retry doubles it.
const FIRST_RETRY: Duration = Duration::from_millis(5);
const MAX_DOUBLINGS: u32 = 8;

/// A part of a configuration, and what is served by it.
#[derive(Debug)]
pub struct View<H> {
    /// The configuration.
    pub config: Rc<Config>,
    /// Its keys in shared data.
    pub keys: SharedKeys,
    /// The keys of an earlier module, whose records are served until a leader has written the first ones.
    pub(crate) previous: Option<PreviousKeys>,
    /// The snapshot.
    pub cache: RefCell<ServingCache>,
    /// The request counts of all proxies, as of the last tick.
    pub rates: RefCell<LatestRates>,
    /// The policies that are objects of the cluster.
    pub policies: RefCell<EffectivePolicies>,
    /// The hash of their bytes.
    pub policies_hash: Cell<u64>,
    /// The marks of all VMs.
    pub quarantine: Quarantine<H>,
    /// When the served snapshot was confirmed. An older confirmation stays while a newer snapshot is in quarantine.
    confirmed: RefCell<Option<Confirmed>>,
    /// Retries of a refused snapshot.
    retries: Cell<u32>,
    /// The key of the request counts, if the metrics APIs or load reports need them.
    rates_key: Option<String>,
    /// The other clusters. What is served of them is part of the cache.
    peers: RefCell<PeersView>,
}

impl<H: SharedData> View<H> {
    /// The view of that VM, which serves nothing yet.
    #[must_use]
    pub fn new(config: Config, vm: Rc<LazyId<H>>) -> Self {
        let keys = SharedKeys::of(&config);
        let serves_rates = config.requests.is_some() && (config.metrics_apis.is_some() || config.orca.is_some());
        Self {
            cache: RefCell::default(),
            rates: RefCell::default(),
            policies: RefCell::default(),
            policies_hash: Cell::default(),
            quarantine: Quarantine::new(&keys, vm),
            confirmed: RefCell::default(),
            retries: Cell::default(),
            peers: RefCell::new(PeersView::new(&config)),
            rates_key: serves_rates.then(|| RequestCountKeys::new(config.metrics_hash()).sum),
            previous: PreviousKeys::of(&config),
            config: Rc::new(config),
            keys,
        }
    }

    /// Takes what the leader published since the last call, and computes the age of what is served. `published` returns a
    /// snapshot that this VM has published itself, so that it need not be read from shared data. If there is a newer snapshot,
    /// returns whether it could be read.
    pub fn refresh(
        &self,
        published: impl FnOnce() -> Option<Vec<u8>>,
        now: Time,
    ) -> Option<Result<(), InvalidSnapshot>> {
        let (confirmed, previous) = self.read_confirmed();
        if self.config.part() == Part::Metrics {
            let key = previous.map_or(&self.keys.policies, |keys| &keys.policies);
            self.take_policies(key, confirmed.as_ref(), now);
            return None;
        }
        let key = previous.map_or(&self.keys.snapshot, |keys| &keys.snapshot);
        let taken = self.take_snapshot(key, confirmed.as_ref(), published, now);
        self.cache
            .borrow_mut()
            .refresh(&self.config, self.confirmed.borrow().as_ref(), now);
        self.peers
            .borrow_mut()
            .refresh(self.cache.borrow_mut().peers_mut(), &self.config, &self.quarantine, now);
        if let (Some(key), Some(requests)) = (&self.rates_key, &self.config.requests) {
            let sum = H::read(key).bytes;
            let item = Item::of_bytes(ItemKind::RequestSum, &sum);
            let mut rates = self.rates.borrow_mut();
            let has_changed = rates.refresh(sum, requests.window, requests.total_max_age(), now);
            if has_changed && self.config.orca.is_some() {
                self.take_rates(item, &rates, now);
            }
        }
        taken
    }

    /// The newest confirmation. If only a leader of an earlier module has written one, returns the keys of that module too.
    fn read_confirmed(&self) -> (Option<Confirmed>, Option<&PreviousKeys>) {
        let own = H::read(&self.keys.confirmed).record();
        match (own, &self.previous) {
            (None, Some(previous)) => (H::read(&previous.confirmed).record(), Some(previous)),
            (own, _) => (own, None),
        }
    }

    /// Takes the rates for load reports. If they are in quarantine, reports have none until the next sum.
    fn take_rates(&self, item: Item, rates: &LatestRates, now: Time) {
        let mut cache = self.cache.borrow_mut();
        let taken = self.quarantine.take(item, now, || cache.take_rates(rates.rates()));
        if taken.is_none() {
            cache.take_rates(&Rates::Unknown);
        }
    }

    /// When to call [`Self::refresh`] again, if a newer snapshot was refused. Another VM may have been taking it: all of them
    /// are woken at the same moment.
    #[must_use]
    pub fn retry_delay(&self) -> Option<Duration> {
        if !self.quarantine.is_refused(ItemKind::Snapshot) {
            self.retries.set(0);
            return None;
        }
        let retries = self.retries.get();
        self.retries.set(retries.saturating_add(1));
        Some(FIRST_RETRY.saturating_mul(1 << retries.min(MAX_DOUBLINGS)))
    }

    /// Takes a newer snapshot. If it is in quarantine, the one that is served stays, and ages.
    fn take_snapshot(
        &self,
        key: &str,
        confirmed: Option<&Confirmed>,
        published: impl FnOnce() -> Option<Vec<u8>>,
        now: Time,
    ) -> Option<Result<(), InvalidSnapshot>> {
        let mut taken = None;
        let mut cache = self.cache.borrow_mut();
        if let Some(newer) = confirmed.filter(|confirmed| cache.is_behind(confirmed)) {
            let own = published();
            let item = Item {
                kind: ItemKind::Snapshot,
                hash: newer.generation,
            };
            let outcome = self.quarantine.take(item, now, || {
                cache.drop_snapshot();
                let bytes = own.unwrap_or_else(|| H::read(key).bytes);
                H::before_parse(ItemKind::Snapshot, &bytes);
                cache.take(bytes)
            });
            taken = Some(outcome?);
        }
        self.confirmed.replace(confirmed.cloned());
        taken
    }

    /// Takes policies that have changed. If they are in quarantine, the old ones stay in force.
    fn take_policies(&self, key: &str, confirmed: Option<&Confirmed>, now: Time) {
        let Some(root) = self.config.root_namespace() else {
            return;
        };
        let mut is_marked = false;
        self.policies.borrow_mut().refresh(root, confirmed, || {
            let bytes = H::read(key).bytes;
            let item = Item::of_bytes(ItemKind::Policies, &bytes);
            if self.policies_hash.get() == item.hash {
                return bytes;
            }
            is_marked = self.quarantine.begin(item, now);
            if !is_marked {
                return Vec::new();
            }
            self.policies_hash.set(item.hash);
            H::before_parse(ItemKind::Policies, &bytes);
            bytes
        });
        if is_marked {
            self.quarantine.end();
        }
    }
}
