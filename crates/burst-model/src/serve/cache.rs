//! What one VM knows of the cluster, and the answers it has ready. Everything that costs anything, the age included,
//! is worked out in the tick; on the response path there is one look-up by Envoy's cluster name.

use super::burst::BulkBody;
use super::header;
use crate::config::{Config, ExtraKey, OnStale};
use crate::index::{self, SERVICES};
use crate::kube::Source;
use crate::name::{Name, ObjectName};
use crate::records::Confirmed;
use crate::snapshot::{Entry, InvalidSnapshot, Snapshot};
use crate::time::Time;
use crate::upstream::{Unmapped, UpstreamHints, UpstreamTarget};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::hash::Hash;
use std::rc::Rc;
use std::time::Duration;

/// Cluster names that are remembered at most. Names come from the proxy's own configuration, but a cluster that is
/// made up per request (a dynamic forward proxy) must not fill the VM, whose memory never shrinks.
const MOST_CLUSTERS: usize = 20_000;

/// Why there is no header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// The request went to no cluster.
    NoCluster,
    /// The cluster stands for no Service that can be told.
    Unmapped(Unmapped),
    /// The Service has no HPA.
    NoEntry,
    /// What it is made of was never read, or cannot be.
    Unsynced,
    /// What was read is too old.
    Stale,
}

/// How far the picture can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// Nothing was read yet.
    #[default]
    Unsynced,
    /// Read within `max_staleness`.
    Fresh,
    /// Read before that: this long ago, when it was looked at last.
    Stale(Duration),
}

/// Ready-made headers, or why there is none. Each response looks here, so the hash is one that costs little; the one of
/// the standard library has no better seed on wasm32 either.
type HeaderCache<Key> = HashMap<Key, Result<Rc<str>, Absence>, RandomState>;

/// What one VM knows.
#[derive(Debug, Default)]
pub struct ServingCache {
    snapshot: Option<Snapshot>,
    as_of: Option<Time>,
    freshness: Freshness,
    /// The lists that nothing is known of, by their place in the configuration.
    lacking: Vec<usize>,
    headers: HeaderCache<Box<[u8]>>,
    /// By Service, where one cluster has endpoints of several.
    services: HeaderCache<ObjectName>,
    bulks: HashMap<Box<str>, Rc<BulkBody>>,
}

impl ServingCache {
    /// Whether a confirmed snapshot is another one than is held.
    #[must_use]
    pub fn is_behind(&self, confirmed: &Confirmed) -> bool {
        self.generation() != Some(confirmed.generation)
    }

    /// Forgets the snapshot that is held, before the bytes of a newer one are there: the memory of a VM never shrinks, so
    /// it should not hold two of a large cluster even for a moment.
    pub fn drop_snapshot(&mut self) {
        self.snapshot = None;
        self.forget_headers();
        self.bulks.clear();
    }

    /// Takes the bytes of a newer snapshot.
    ///
    /// # Errors
    /// They are damaged; the older snapshot stays.
    pub fn take(&mut self, bytes: Vec<u8>) -> Result<(), InvalidSnapshot> {
        self.snapshot = Some(Snapshot::open(bytes)?);
        self.forget_headers();
        self.bulks.clear();
        Ok(())
    }

    /// Looks at the age of the picture, once a tick.
    pub fn refresh(&mut self, config: &Config, confirmed: Option<&Confirmed>, now: Time) {
        let as_of = confirmed
            .and_then(Confirmed::oldest)
            .filter(|_| self.snapshot.is_some());
        let freshness = match as_of.map(|as_of| now.since(as_of)) {
            None => Freshness::Unsynced,
            Some(age) if age <= config.max_staleness => Freshness::Fresh,
            Some(age) => Freshness::Stale(age),
        };
        let mut lists = confirmed
            .map(|confirmed| confirmed.lists.iter())
            .unwrap_or_default()
            .enumerate();
        let lacking: Vec<_> = lists
            .by_ref()
            .filter(|(_, read)| read.is_none())
            .map(|(place, _)| place)
            .collect();
        let turned = matches!(freshness, Freshness::Stale(_)) != matches!(self.freshness, Freshness::Stale(_));
        // Not only for the time that a header may show: a control plane tells the proxy of a new Service on another
        // way, maybe later than the snapshot has it, and what a cluster stands for must not be fixed before.
        if turned || as_of != self.as_of || lacking != self.lacking {
            self.forget_headers();
        }
        (self.as_of, self.freshness, self.lacking) = (as_of, freshness, lacking);
    }

    /// The generation of the snapshot that is held.
    #[must_use]
    pub fn generation(&self) -> Option<u64> {
        self.snapshot.as_ref().map(Snapshot::generation)
    }

    /// When the cluster was last read.
    #[must_use]
    pub fn as_of(&self) -> Option<Time> {
        self.as_of
    }

    /// How far the picture can be trusted, as of the last look.
    #[must_use]
    pub fn freshness(&self) -> Freshness {
        self.freshness
    }

    /// The snapshot that is held.
    #[must_use]
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }

    /// A list that cannot be read, and that may hold what is asked for: a row of that section, in that namespace or
    /// in any.
    #[must_use]
    pub fn refused<'a>(&self, config: &'a Config, section: &str, namespace: Option<&str>) -> Option<&'a Source> {
        let lacking = self
            .lacking
            .iter()
            .filter_map(|place| config.content.sources.get(*place));
        let holds = |source: &&Source| {
            let everywhere = source.namespace.as_ref().map(Name::as_str);
            let is_there = everywhere.is_none() || namespace.is_none() || everywhere == namespace;
            is_there && index::produces_section(source, section)
        };
        lacking.into_iter().find(holds)
    }

    /// The header for a response of an Envoy cluster. The hints are asked once per cluster and read of the API; the
    /// endpoint that answered is asked for each response, where nothing but that tells the Service.
    ///
    /// # Errors
    /// Why there is none.
    pub fn header(&mut self, config: &Config, cluster: &[u8], hints: &impl UpstreamHints) -> Result<Rc<str>, Absence> {
        match self.header_of_cluster(config, cluster, hints) {
            Err(Absence::Unmapped(Unmapped::Route)) => self.header_of_backend(config, hints),
            header => header,
        }
    }

    /// The header for a response of a Service, whatever cluster it comes by.
    ///
    /// # Errors
    /// Why there is none.
    pub fn header_of_service(&mut self, config: &Config, service: &ObjectName) -> Result<Rc<str>, Absence> {
        if let Some(known) = self.services.get(service) {
            return known.clone();
        }
        let made = self.make_header(config, &[UpstreamTarget::Service(service.clone())]);
        remember(&mut self.services, service.clone(), made)
    }

    fn header_of_cluster(
        &mut self,
        config: &Config,
        cluster: &[u8],
        hints: &impl UpstreamHints,
    ) -> Result<Rc<str>, Absence> {
        if let Some(known) = self.headers.get(cluster) {
            return known.clone();
        }
        let upstreams = config.upstreams.of(cluster, hints).map_err(Absence::Unmapped);
        let made = upstreams.and_then(|upstreams| self.make_header(config, &upstreams));
        remember(&mut self.headers, cluster.into(), made)
    }

    fn header_of_backend(&mut self, config: &Config, hints: &impl UpstreamHints) -> Result<Rc<str>, Absence> {
        let service = hints.backend().ok_or(Absence::Unmapped(Unmapped::Route))?;
        self.header_of_service(config, &service)
    }

    fn forget_headers(&mut self) {
        self.headers.clear();
        self.services.clear();
    }

    /// The header of the first of them that has a load.
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
        let entry = upstreams.iter().find_map(|upstream| entry(snapshot, upstream));
        let entry = entry.ok_or_else(
            || match upstreams.iter().any(|upstream| self.is_refused(config, upstream)) {
                true => Absence::Unsynced,
                false => Absence::NoEntry,
            },
        )?;
        let keys = &config.header.extra_keys;
        let mark = stale && config.on_stale == OnStale::Mark && !keys.contains(&ExtraKey::Stale);
        let keys = if mark {
            &[keys, &[ExtraKey::Stale][..]].concat()
        } else {
            keys
        };
        Ok(header::value_with(&entry, keys, as_of, stale).into())
    }

    fn is_refused(&self, config: &Config, upstream: &UpstreamTarget) -> bool {
        let (section, name) = place(upstream);
        self.refused(config, section, Some(name.namespace.as_str())).is_some()
    }

    /// The bulk answer of a kind, made at most once per snapshot; `None` where there are no rows.
    pub(super) fn bulk(&mut self, kind: &str) -> Option<Rc<BulkBody>> {
        if let Some(bulk) = self.bulks.get(kind) {
            return Some(bulk.clone());
        }
        let section = self
            .snapshot
            .as_ref()?
            .section(kind)
            .filter(|section| !section.is_empty())?;
        let bulk = Rc::new(BulkBody::render(section));
        self.bulks.insert(kind.into(), bulk.clone());
        Some(bulk)
    }
}

fn remember<Key: Eq + Hash>(
    headers: &mut HeaderCache<Key>,
    key: Key,
    made: Result<Rc<str>, Absence>,
) -> Result<Rc<str>, Absence> {
    if headers.len() >= MOST_CLUSTERS {
        headers.clear();
    }
    headers.insert(key, made.clone());
    made
}

/// The section and the name of what an upstream stands for.
fn place(upstream: &UpstreamTarget) -> (&str, &ObjectName) {
    match upstream {
        UpstreamTarget::Service(name) => (SERVICES, name),
        UpstreamTarget::Workload { plural, name } => (plural.as_str(), name),
    }
}

fn entry<'a>(snapshot: &'a Snapshot, upstream: &UpstreamTarget) -> Option<Entry<'a>> {
    let (section, name) = place(upstream);
    snapshot.section(section)?.find(&name.to_string())
}

#[cfg(test)]
pub(super) mod tests;
