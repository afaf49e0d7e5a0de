//! The snapshot that one VM serves from, and the headers and bodies that it has rendered. The age is computed in the
//! tick. A response costs one look-up by Envoy's cluster name.

mod clusters;

use super::bulk_body::BulkBody;
use super::degraded::{Degradation, DegradedStates};
use super::format::{Format, Rendered, Rows};
use super::header::{self, LastRead};
use super::orca::OrcaReport;
use super::overflow::{Observation, Share, Shares};
use super::retry_after::RetryDelays;
use crate::config::{Config, ExtraKey, OnStale};
use crate::index::{self, SERVICES};
use crate::kube::Source;
use crate::load::Load;
use crate::name::{Name, ObjectName};
use crate::peers::Peers;
use crate::records::Confirmed;
use crate::request_rates::{Rates, ServiceRate};
use crate::signals::{SignalSet, Signals};
use crate::snapshot::{Entry, InvalidSnapshot, Section, Snapshot};
use crate::time::Time;
use crate::upstream::{Unmapped, UpstreamHints, UpstreamTarget};
use foldhash::fast::RandomState;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::rc::Rc;
use std::time::Duration;

/// The most cluster names that are cached. Names come from the proxy's configuration, but a dynamic forward proxy makes
/// up a cluster per request, and the memory of a VM never shrinks.
const MAX_CLUSTERS: usize = 20_000;

/// Why there is no header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// The request went to no cluster.
    NoCluster,
    /// The cluster cannot be mapped to a Service.
    Unmapped(Unmapped),
    /// The Service has no HPA.
    NoEntry,
    /// A resource that the header depends on was never read, or cannot be.
    Unsynced,
    /// The snapshot is too old.
    Stale,
}

/// Whether the snapshot is recent enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// Nothing was read yet.
    #[default]
    Unsynced,
    /// Read within `max_staleness`.
    Fresh,
    /// Read before that. This was its age at the last refresh.
    Stale(Duration),
}

/// What responses from one upstream get. It is rendered once for each read of the API.
#[derive(Debug)]
pub struct CachedUpstream {
    /// The value of the burst header, or why there is none.
    pub header: Result<Rc<str>, Absence>,
    /// The numbers behind the header, for signals that act on them. `None` if they are not known or the snapshot is stale: a
    /// signal disappears then.
    pub numbers: Option<FreshNumbers>,
    /// Whether the Service is full. `None` if it has no load, or `degraded` is not configured.
    pub degradation: Option<Degradation>,
    /// When refused clients may come back. `None` unless the Service is limited and `retry_after` configured.
    pub retry_delays: Option<RetryDelays>,
    /// The load report, if `orca` is configured and there is one.
    pub orca: Option<OrcaReport>,
    /// The requests that overflow to another cluster.
    pub overflow: Share,
}

/// The numbers of a row in a snapshot that is not stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreshNumbers {
    /// The current, target and maximum load.
    pub load: Load,
    /// The signals that the configuration names.
    pub signals: Signals,
}

/// The upstreams that were looked up. Each response looks one up, so the hash function is a fast one. The standard library's
/// has no random seed on wasm32 either.
type UpstreamCache<Key> = HashMap<Key, Rc<CachedUpstream>, RandomState>;

/// The snapshot of one VM and what was rendered from it.
#[derive(Debug, Default)]
pub struct ServingCache {
    snapshot: Option<Snapshot>,
    as_of: Option<Time>,
    /// The time from then to the last refresh.
    age: Duration,
    freshness: Freshness,
    /// The time since the last read, in whole seconds; `None` unless headers show it.
    shown_age: Option<Duration>,
    /// The lists that were never read or cannot be, by their index in the configuration.
    unread_lists: Vec<usize>,
    /// The request rates for load reports, by `namespace/name` of the Service. Empty if they are not known.
    rates: BTreeMap<String, ServiceRate>,
    /// By Service, what overflows.
    shares: Shares,
    /// When the shares were computed, in whole seconds, so that all VMs compute them for the same times.
    shares_at: Time,
    /// By the name of the Envoy cluster.
    clusters: UpstreamCache<Box<[u8]>>,
    /// By Service, for clusters with endpoints of several Services.
    services: UpstreamCache<ObjectName>,
    /// They outlast the snapshot.
    degraded: DegradedStates,
    bulk_bodies: HashMap<Box<str>, Rc<BulkBody>>,
    /// By kind and the signals that are shown, [the hash of its rows](Section::content_hash).
    row_hashes: HashMap<(Box<str>, SignalSet), u64>,
    /// The last bulk body in another format. Only one is kept, because the memory of a VM never shrinks.
    formatted: Option<Rc<FormattedBody>>,
    /// The other clusters; none without a configuration of peers.
    peers: Peers,
    /// The last document about all clusters.
    all_clusters: Option<Rc<ClustersBody>>,
}

use clusters::ClustersBody;

/// All rows of a kind in a format.
#[derive(Debug)]
pub(super) struct FormattedBody {
    kind: Box<str>,
    format: Format,
    as_of: Time,
    pub(super) content_type: &'static str,
    pub(super) body: Rc<[u8]>,
}

impl ServingCache {
    /// Returns whether the confirmed snapshot differs from the cached one.
    #[must_use]
    pub fn is_behind(&self, confirmed: &Confirmed) -> bool {
        self.generation() != Some(confirmed.generation)
    }

    /// Drops the cached snapshot. Call this before fetching the bytes of a newer one: the memory of a VM never shrinks, so
    /// it should never hold two snapshots of a large cluster.
    pub fn drop_snapshot(&mut self) {
        self.snapshot = None;
        self.clear_upstreams();
        self.clear_bodies();
    }

    /// Replaces the cached snapshot by these bytes.
    ///
    /// # Errors
    /// The bytes are damaged. The cached snapshot stays.
    pub fn take(&mut self, bytes: Vec<u8>) -> Result<(), InvalidSnapshot> {
        self.snapshot = Some(Snapshot::open(bytes)?);
        self.clear_upstreams();
        self.clear_bodies();
        Ok(())
    }

    /// Updates the age of the snapshot. Call this once a tick.
    pub fn refresh(&mut self, config: &Config, confirmed: Option<&Confirmed>, now: Time) {
        let as_of = confirmed
            .and_then(Confirmed::oldest)
            .filter(|_| self.snapshot.is_some());
        let age = as_of.map(|as_of| now.since(as_of));
        let shown_age = age
            .filter(|_| config.header.extra_keys.contains(&ExtraKey::Age))
            .map(|age| Duration::from_secs(age.as_secs()));
        let freshness = match age {
            None => Freshness::Unsynced,
            Some(age) if age <= config.max_staleness => Freshness::Fresh,
            Some(age) => Freshness::Stale(age),
        };
        let unread_lists: Vec<_> = confirmed
            .map(|confirmed| confirmed.lists.iter())
            .unwrap_or_default()
            .enumerate()
            .filter(|(_, read)| read.is_none())
            .map(|(index, _)| index)
            .collect();
        let staleness_changed =
            matches!(freshness, Freshness::Stale(_)) != matches!(self.freshness, Freshness::Stale(_));
        // A new `as_of` clears the headers even if they do not show it: the control plane may send the metadata of a new
        // Service later than the snapshot, so a cluster's mapping must be resolved again.
        let age_changed = shown_age != self.shown_age;
        if freshness != Freshness::Fresh {
            self.shares.clear();
        }
        let shares_at = Time::from_unix_millis(now.unix_seconds().saturating_mul(1000));
        let shares_changed = !self.shares.is_empty() && shares_at != self.shares_at;
        self.shares_at = shares_at;
        if shares_changed
            || staleness_changed
            || age_changed
            || as_of != self.as_of
            || unread_lists != self.unread_lists
        {
            self.clear_upstreams();
        }
        (self.as_of, self.freshness, self.unread_lists) = (as_of, freshness, unread_lists);
        self.shown_age = shown_age;
        self.age = age.unwrap_or_default();
        if let Some(peers) = config.peers.as_deref().filter(|_| self.peers.is_empty()) {
            self.peers = Peers::new(peers);
        }
    }

    /// The other clusters, as of the last refresh of each.
    #[must_use]
    pub fn peers(&self) -> &Peers {
        &self.peers
    }

    /// The same, to be refreshed. There are some from the first [refresh](Self::refresh) on.
    pub fn peers_mut(&mut self) -> &mut Peers {
        &mut self.peers
    }

    /// Takes the request rates for load reports, or that they are not known.
    pub fn take_rates(&mut self, rates: &Rates) {
        let known = match rates {
            Rates::Known(sums) => sums.services.clone(),
            Rates::Unknown | Rates::Stale { .. } => BTreeMap::new(),
        };
        if known != self.rates {
            self.rates = known;
            self.clear_upstreams();
        }
    }

    /// The generation of the cached snapshot.
    #[must_use]
    pub fn generation(&self) -> Option<u64> {
        self.snapshot.as_ref().map(Snapshot::generation)
    }

    /// When the cluster was last read.
    #[must_use]
    pub fn as_of(&self) -> Option<Time> {
        self.as_of
    }

    /// Whether the snapshot is recent enough, as of the last refresh.
    #[must_use]
    pub fn freshness(&self) -> Freshness {
        self.freshness
    }

    /// The cached snapshot.
    #[must_use]
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }

    /// A list that was not read and may contain a row of that section, in that namespace or in any.
    #[must_use]
    pub fn unread_list<'a>(&self, config: &'a Config, section: &str, namespace: Option<&str>) -> Option<&'a Source> {
        self.unread_lists
            .iter()
            .filter_map(|index| config.content.sources.get(*index))
            .filter(|source| index::produces_section(source, section))
            .find(|source| includes_namespace(source, namespace))
    }

    /// What a response from an Envoy cluster gets. The hints about a cluster are used once per read of the API. The hint about
    /// the endpoint is used for each response if only the endpoint determines the Service.
    pub fn upstream(&mut self, config: &Config, cluster: &[u8], hints: &impl UpstreamHints) -> Rc<CachedUpstream> {
        let upstream = self.upstream_of_cluster(config, cluster, hints);
        if upstream.header == Err(Absence::Unmapped(Unmapped::Route))
            && let Some(service) = hints.backend()
        {
            return self.upstream_of_service(config, &service);
        }
        upstream
    }

    /// The header for a response from an Envoy cluster.
    ///
    /// # Errors
    /// Why there is no header.
    pub fn header(&mut self, config: &Config, cluster: &[u8], hints: &impl UpstreamHints) -> Result<Rc<str>, Absence> {
        self.upstream(config, cluster, hints).header.clone()
    }

    /// The header for a response from a Service.
    ///
    /// # Errors
    /// Why there is no header.
    pub fn header_of_service(&mut self, config: &Config, service: &ObjectName) -> Result<Rc<str>, Absence> {
        self.upstream_of_service(config, service).header.clone()
    }

    fn upstream_of_cluster(
        &mut self,
        config: &Config,
        cluster: &[u8],
        hints: &impl UpstreamHints,
    ) -> Rc<CachedUpstream> {
        if let Some(known) = self.clusters.get(cluster) {
            return known.clone();
        }
        let targets = config.upstreams.resolve(cluster, hints).map_err(Absence::Unmapped);
        let upstream = self.look_up(config, &targets);
        insert_upstream(&mut self.clusters, cluster.into(), upstream)
    }

    fn upstream_of_service(&mut self, config: &Config, service: &ObjectName) -> Rc<CachedUpstream> {
        if let Some(known) = self.services.get(service) {
            return known.clone();
        }
        let upstream = self.look_up(config, &Ok(vec![UpstreamTarget::Service(service.clone())]));
        insert_upstream(&mut self.services, service.clone(), upstream)
    }

    fn look_up(&mut self, config: &Config, targets: &Result<Vec<UpstreamTarget>, Absence>) -> CachedUpstream {
        let known = targets.as_ref().ok();
        let fresh = known.and_then(|targets| self.fresh_numbers(targets));
        let numbers = fresh.map(|(_, numbers)| numbers);
        let degradation = config.degraded.as_ref().and_then(|degraded| {
            let row = self.row(known?)?;
            Some(self.degraded.degradation(degraded, row, numbers))
        });
        let retry_delays = config.retry_after.as_ref().zip(numbers);
        let orca = config.orca.and(known.zip(numbers));
        let orca = orca.and_then(|(targets, numbers)| OrcaReport::new(numbers.load, self.rate(targets)));
        let overflow = fresh.map(|(target, numbers)| self.share(config, target, numbers));
        let header = targets.as_ref().map_err(|absence| *absence);
        CachedUpstream {
            header: header.and_then(|targets| self.make_header(config, targets)),
            numbers,
            degradation,
            retry_delays: retry_delays.and_then(|(config, numbers)| RetryDelays::new(config, numbers)),
            orca,
            overflow: overflow.unwrap_or_default(),
        }
    }

    /// The section and the name of the first target that has a load, stale or not.
    fn row(&self, targets: &[UpstreamTarget]) -> Option<String> {
        let snapshot = self.snapshot.as_ref()?;
        let target = targets.iter().find(|target| entry(snapshot, target).is_some())?;
        let (section, name) = section_and_name(target);
        Some(format!("{section}/{name}"))
    }

    /// What overflows of the requests for a target.
    fn share(&mut self, config: &Config, target: &UpstreamTarget, numbers: FreshNumbers) -> Share {
        let Some(overflow) = config.overflow.as_deref() else {
            return Share::NONE;
        };
        let FreshNumbers { load, signals } = numbers;
        let seen = Observation {
            load,
            signals,
            peer_headroom: self.peer_headroom(config, target),
        };
        let (section, name) = section_and_name(target);
        let key = format!("{section}/{name}");
        self.shares.update(overflow, &key, &seen, self.shares_at)
    }

    /// The replicas that peers can still add to a Service: none if no peer is fresh. `None` if there are no peers.
    fn peer_headroom(&self, config: &Config, target: &UpstreamTarget) -> Option<u64> {
        config.peers.as_ref()?;
        let UpstreamTarget::Service(name) = target else {
            return None;
        };
        Some(self.peers.headroom(&name.to_string()).map_or(0, |peers| peers.sum))
    }

    /// The first target that has a load, and its numbers.
    fn fresh_numbers<'a>(&self, targets: &'a [UpstreamTarget]) -> Option<(&'a UpstreamTarget, FreshNumbers)> {
        let snapshot = self.snapshot.as_ref().filter(|_| self.freshness == Freshness::Fresh)?;
        targets.iter().find_map(|target| {
            let Entry { load, signals, .. } = entry(snapshot, target)?;
            Some((target, FreshNumbers { load, signals }))
        })
    }

    /// The rate of the first target that is a Service, because requests are counted for that one.
    fn rate(&self, targets: &[UpstreamTarget]) -> Option<ServiceRate> {
        let service = targets.iter().find_map(|target| match target {
            UpstreamTarget::Service(name) => Some(name),
            UpstreamTarget::Workload { .. } => None,
        })?;
        self.rates.get(&service.to_string()).copied()
    }

    fn clear_upstreams(&mut self) {
        self.clusters.clear();
        self.services.clear();
    }

    fn clear_bodies(&mut self) {
        self.bulk_bodies.clear();
        self.row_hashes.clear();
        self.formatted = None;
        self.all_clusters = None;
    }

    /// The header of the first target that has a load.
    fn make_header(&self, config: &Config, upstreams: &[UpstreamTarget]) -> Result<Rc<str>, Absence> {
        if let Some(constant) = &config.header.constant {
            return Ok(constant.as_str().into());
        }
        let (Some(snapshot), Some(as_of)) = (&self.snapshot, self.as_of) else {
            return Err(Absence::Unsynced);
        };
        let stale = matches!(self.freshness, Freshness::Stale(_));
        if stale && config.on_stale == OnStale::Drop {
            return Err(Absence::Stale);
        }
        let Some(entry) = upstreams.iter().find_map(|upstream| entry(snapshot, upstream)) else {
            let is_unsynced = upstreams
                .iter()
                .any(|upstream| self.may_be_in_unread_list(config, upstream));
            return Err(if is_unsynced {
                Absence::Unsynced
            } else {
                Absence::NoEntry
            });
        };
        let keys = &config.header.extra_keys;
        let mark = stale && config.on_stale == OnStale::Mark && !keys.contains(&ExtraKey::Stale);
        let keys = if mark {
            &[keys, &[ExtraKey::Stale][..]].concat()
        } else {
            keys
        };
        let age = self.shown_age.unwrap_or_default();
        Ok(header::value_with(&entry, keys, LastRead { as_of, age, stale }).into())
    }

    fn may_be_in_unread_list(&self, config: &Config, upstream: &UpstreamTarget) -> bool {
        let (section, name) = section_and_name(upstream);
        self.unread_list(config, section, Some(name.namespace.as_str()))
            .is_some()
    }

    /// The bulk body of a kind, rendered at most once per snapshot. `None` if it has no rows.
    pub(super) fn bulk_body(&mut self, kind: &str) -> Option<Rc<BulkBody>> {
        if let Some(bulk) = self.bulk_bodies.get(kind) {
            return Some(bulk.clone());
        }
        let section = self.section(kind).filter(|section| !section.is_empty())?;
        let bulk = Rc::new(BulkBody::render(section));
        self.bulk_bodies.insert(kind.into(), bulk.clone());
        Some(bulk)
    }

    /// The rows of a kind.
    pub(super) fn section(&self, kind: &str) -> Option<Section<'_>> {
        self.snapshot.as_ref()?.section(kind)
    }

    /// The entity tag of all rows of a kind in a format. It is that of no rows if there are none. `None` if nothing was read.
    pub(super) fn formatted_etag(&mut self, kind: &str, format: &Format) -> Option<String> {
        let as_of = self.as_of?;
        let hash = self.row_hash(kind, format.signals());
        Some(format.etag(hash, as_of))
    }

    /// The hash of the rows of a kind; 0 if there are none.
    fn row_hash(&mut self, kind: &str, shown: SignalSet) -> u64 {
        let key = (kind.into(), shown);
        match self.row_hashes.get(&key) {
            Some(known) => *known,
            None => {
                let hash = self.section(kind).map_or(0, |section| section.content_hash(shown));
                self.row_hashes.insert(key, hash);
                hash
            }
        }
    }

    /// All rows of a kind in a format, rendered at most once for each read of the cluster if clients ask for one format.
    /// `None` if nothing was read.
    pub(super) fn formatted_body(&mut self, kind: &str, format: &Format) -> Option<Rc<FormattedBody>> {
        let as_of = self.as_of?;
        let is_same =
            |known: &&Rc<FormattedBody>| *known.kind == *kind && known.format == *format && known.as_of == as_of;
        if let Some(known) = self.formatted.as_ref().filter(is_same) {
            return Some(known.clone());
        }
        // The old one is freed first: the memory of a VM never shrinks.
        self.formatted = None;
        let Rendered { content_type, body } = format.render(kind, &Rows::All(self.section(kind)), as_of);
        let rendered = Rc::new(FormattedBody {
            kind: kind.into(),
            format: format.clone(),
            as_of,
            content_type,
            body: body.into_bytes().into(),
        });
        self.formatted = Some(rendered.clone());
        Some(rendered)
    }
}

/// Returns whether a list may contain objects of a namespace, or of any if that is `None`.
fn includes_namespace(source: &Source, namespace: Option<&str>) -> bool {
    let listed = source.namespace.as_ref().map(Name::as_str);
    listed.is_none() || namespace.is_none() || listed == namespace
}

fn insert_upstream<Key: Eq + Hash>(
    upstreams: &mut UpstreamCache<Key>,
    key: Key,
    upstream: CachedUpstream,
) -> Rc<CachedUpstream> {
    if upstreams.len() >= MAX_CLUSTERS {
        upstreams.clear();
    }
    let upstream = Rc::new(upstream);
    upstreams.insert(key, upstream.clone());
    upstream
}

/// The section and the name of an upstream target's row.
fn section_and_name(upstream: &UpstreamTarget) -> (&str, &ObjectName) {
    match upstream {
        UpstreamTarget::Service(name) => (SERVICES, name),
        UpstreamTarget::Workload { plural, name } => (plural.as_str(), name),
    }
}

fn entry<'a>(snapshot: &'a Snapshot, upstream: &UpstreamTarget) -> Option<Entry<'a>> {
    let (section, name) = section_and_name(upstream);
    snapshot.section(section)?.find(&name.to_string())
}

#[cfg(test)]
pub(super) mod tests;
