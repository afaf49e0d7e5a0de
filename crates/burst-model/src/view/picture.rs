//! What one VM knows of the cluster, and the answers it has ready. Everything that costs anything, the age included,
//! is worked out in the tick; on the response path there is one look-up by Envoy's cluster name.

use super::burst::Bulk;
use super::header;
use crate::config::{Config, ExtraKey, OnStale};
use crate::index::SERVICES;
use crate::records::Confirmed;
use crate::snapshot::{Damaged, Entry, Snapshot};
use crate::time::Time;
use crate::upstream::{Hints, Unmapped, Upstream};
use std::collections::HashMap;
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
    /// The cluster was never read.
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

/// What one VM knows.
#[derive(Debug, Default)]
pub struct Picture {
    snapshot: Option<Snapshot>,
    as_of: Option<Time>,
    freshness: Freshness,
    headers: HashMap<Box<[u8]>, Result<Rc<str>, Absence>>,
    bulks: HashMap<Box<str>, Rc<Bulk>>,
}

impl Picture {
    /// Whether a confirmed snapshot is another one than is held.
    #[must_use]
    pub fn lacks(&self, confirmed: &Confirmed) -> bool {
        self.generation() != Some(confirmed.generation)
    }

    /// Takes the bytes of a newer snapshot.
    ///
    /// # Errors
    /// They are damaged; the older snapshot stays.
    pub fn take(&mut self, bytes: Vec<u8>) -> Result<(), Damaged> {
        self.snapshot = Some(Snapshot::open(bytes)?);
        self.headers.clear();
        self.bulks.clear();
        Ok(())
    }

    /// Looks at the age of the picture, once a tick.
    pub fn look(&mut self, config: &Config, confirmed: Option<&Confirmed>, now: Time) {
        let as_of = confirmed
            .and_then(Confirmed::oldest)
            .filter(|_| self.snapshot.is_some());
        let freshness = match as_of.map(|as_of| now.since(as_of)) {
            None => Freshness::Unsynced,
            Some(age) if age <= config.max_staleness => Freshness::Fresh,
            Some(age) => Freshness::Stale(age),
        };
        let turned = matches!(freshness, Freshness::Stale(_)) != matches!(self.freshness, Freshness::Stale(_));
        // Not only for the time that a header may show: a control plane tells the proxy of a new Service on another
        // way, maybe later than the snapshot has it, and what a cluster stands for must not be fixed before.
        if turned || as_of != self.as_of {
            self.headers.clear();
        }
        (self.as_of, self.freshness) = (as_of, freshness);
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

    /// The header for a response of an Envoy cluster. The hints are asked once per cluster and snapshot.
    ///
    /// # Errors
    /// Why there is none.
    pub fn header(&mut self, config: &Config, cluster: &[u8], hints: &impl Hints) -> Result<Rc<str>, Absence> {
        if let Some(known) = self.headers.get(cluster) {
            return known.clone();
        }
        let made = self.make_header(config, cluster, hints);
        if self.headers.len() >= MOST_CLUSTERS {
            self.headers.clear();
        }
        self.headers.insert(cluster.into(), made.clone());
        made
    }

    fn make_header(&self, config: &Config, cluster: &[u8], hints: &impl Hints) -> Result<Rc<str>, Absence> {
        let upstreams = config.upstreams.of(cluster, hints).map_err(Absence::Unmapped)?;
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
        let entry = entry.ok_or(Absence::NoEntry)?;
        let keys = &config.header.extra_keys;
        let mark = stale && config.on_stale == OnStale::Mark && !keys.contains(&ExtraKey::Stale);
        let keys = if mark {
            &[keys, &[ExtraKey::Stale][..]].concat()
        } else {
            keys
        };
        Ok(header::value_with(&entry, keys, as_of, stale).into())
    }

    /// The bulk answer of a kind, made at most once per snapshot; `None` where there are no rows.
    pub(super) fn bulk(&mut self, kind: &str) -> Option<Rc<Bulk>> {
        if let Some(bulk) = self.bulks.get(kind) {
            return Some(bulk.clone());
        }
        let section = self
            .snapshot
            .as_ref()?
            .section(kind)
            .filter(|section| !section.is_empty())?;
        let bulk = Rc::new(Bulk::render(section));
        self.bulks.insert(kind.into(), bulk.clone());
        Some(bulk)
    }
}

fn entry<'a>(snapshot: &'a Snapshot, upstream: &Upstream) -> Option<Entry<'a>> {
    let (section, name) = match upstream {
        Upstream::Service(name) => (SERVICES, name),
        Upstream::Workload { plural, name } => (plural.as_str(), name),
    };
    snapshot.section(section)?.find(&name.to_string())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::config::Artifact;
    use crate::index::{Row, Table};
    use crate::load::Load;
    use crate::name::ObjectName;
    use crate::snapshot;
    use crate::upstream::IstioService;

    pub(crate) const T0: Time = Time::from_unix_millis(1_700_000_000_000);

    pub(crate) fn config(more: &str) -> Config {
        let json = format!(r#"{{"cluster":"k","clusters":[{{"name":"{{service}}.{{namespace}}"}}]{more}}}"#);
        Config::parse(json.as_bytes(), Artifact::Full).unwrap()
    }

    pub(crate) fn table(current: u32) -> Table {
        let name = |text| ObjectName::parse(text).unwrap();
        let load = Load {
            current,
            target: 4,
            max: 5,
        };
        let row = Row {
            of: name("shop/web"),
            label: name("shop/web-1"),
            load,
        };
        Table::from([("hpas".into(), vec![]), ("services".into(), vec![row])])
    }

    /// A picture read at `T0`.
    pub(crate) fn picture(config: &Config) -> Picture {
        let mut picture = Picture::default();
        picture.take(snapshot::write(&table(1), 1)).unwrap();
        picture.look(config, Some(&confirmed(T0)), T0);
        picture
    }

    pub(crate) fn confirmed(at: Time) -> Confirmed {
        Confirmed {
            generation: 1,
            lists: vec![Some(at)],
        }
    }

    fn header(picture: &mut Picture, config: &Config, cluster: &str) -> Result<String, Absence> {
        picture
            .header(config, cluster.as_bytes(), &())
            .map(|value| value.to_string())
    }

    const VALUE: &str = "service=shop/web-1, current-load=1, target-load=4, max-load=5";

    #[test]
    fn a_mapped_service_has_its_header_and_the_others_a_reason() {
        let config = config("");
        let mut picture = picture(&config);
        assert_eq!(header(&mut picture, &config, "web.shop").as_deref(), Ok(VALUE));
        assert_eq!(header(&mut picture, &config, "other.shop"), Err(Absence::NoEntry));
        assert_eq!(
            header(&mut picture, &config, "PassthroughCluster"),
            Err(Absence::Unmapped(Unmapped::Passthrough))
        );
        assert_eq!(
            header(&mut Picture::default(), &config, "web.shop"),
            Err(Absence::Unsynced)
        );
        assert_eq!(
            picture.header(&config, b"\xff\xfe", &()),
            Err(Absence::Unmapped(Unmapped::Unknown))
        );
    }

    struct Pod;

    impl Hints for Pod {
        fn service(&self, place: usize) -> Option<IstioService> {
            let name = ["unscaled", "web"].get(place)?;
            Some(IstioService {
                host: format!("{name}.shop.svc.cluster.local"),
                name: (*name).into(),
                namespace: "shop".into(),
            })
        }

        fn owner(&self) -> Option<String> {
            None
        }
    }

    #[test]
    fn of_several_candidates_the_first_with_a_load_counts() {
        let config = config("");
        let header = picture(&config).header(&config, b"inbound|8080||", &Pod);
        assert_eq!(header.as_deref(), Ok(VALUE));
        let workloads = Table::from([("deployments".into(), table(2).remove("services").unwrap())]);
        let mut picture = Picture::default();
        picture.take(snapshot::write(&workloads, 1)).unwrap();
        picture.look(&config, Some(&confirmed(T0)), T0);
        let header = picture.header(&config, b"inbound|8080||", &Owned);
        assert_eq!(
            header.as_deref(),
            Ok(VALUE.replace("current-load=1", "current-load=2").as_str())
        );
    }

    /// A pod that no Service selects.
    struct Owned;

    impl Hints for Owned {
        fn service(&self, _place: usize) -> Option<IstioService> {
            None
        }

        fn owner(&self) -> Option<String> {
            Some("kubernetes://apis/apps/v1/namespaces/shop/deployments/web".into())
        }
    }

    #[test]
    fn a_new_snapshot_shows_in_headers_that_were_ready_made() {
        let config = config("");
        let mut picture = picture(&config);
        header(&mut picture, &config, "web.shop").unwrap();
        picture.take(snapshot::write(&table(3), 2)).unwrap();
        assert!(
            header(&mut picture, &config, "web.shop")
                .unwrap()
                .contains("current-load=3")
        );
    }

    #[test]
    fn a_picture_too_old_is_dropped_marked_or_kept_to_the_millisecond() {
        let limit = T0.after(Duration::from_secs(60));
        let late = limit.after(Duration::from_millis(1));
        let marked = format!("{VALUE}, stale=true");
        for (how, expected) in [
            ("drop", Err(Absence::Stale)),
            ("mark", Ok(marked.as_str())),
            ("keep", Ok(VALUE)),
        ] {
            let config = config(&format!(r#","on_stale":"{how}""#));
            let mut picture = picture(&config);
            picture.look(&config, Some(&confirmed(T0)), limit);
            assert_eq!(
                header(&mut picture, &config, "web.shop").as_deref(),
                Ok(VALUE),
                "{how}: just in time"
            );
            picture.look(&config, Some(&confirmed(T0)), late);
            let found = header(&mut picture, &config, "web.shop");
            assert_eq!(found.as_deref(), expected.as_ref().copied(), "{how}: too late");
            picture.look(&config, Some(&confirmed(late)), late);
            assert_eq!(
                header(&mut picture, &config, "web.shop").as_deref(),
                Ok(VALUE),
                "{how}: read again"
            );
        }
    }

    #[test]
    fn the_time_of_the_read_follows_every_confirmation() {
        let config = config(r#","header":{"extra_keys":["as-of"]}"#);
        let mut picture = picture(&config);
        assert_eq!(
            header(&mut picture, &config, "web.shop").unwrap(),
            format!("{VALUE}, as-of=1700000000")
        );
        let later = T0.after(Duration::from_secs(5));
        picture.look(&config, Some(&confirmed(later)), later);
        assert_eq!(
            header(&mut picture, &config, "web.shop").unwrap(),
            format!("{VALUE}, as-of=1700000005")
        );
    }

    #[test]
    fn a_constant_needs_no_cluster_to_be_read() {
        let config = config(r#","header":{"value":"service=x, current-load=1, target-load=2, max-load=3"}"#);
        let found = header(&mut Picture::default(), &config, "web.shop").unwrap();
        assert_eq!(found, "service=x, current-load=1, target-load=2, max-load=3");
        assert_eq!(
            header(&mut Picture::default(), &config, "nothing"),
            Err(Absence::Unmapped(Unmapped::Unknown))
        );
    }

    #[test]
    fn damaged_bytes_leave_the_older_snapshot_standing() {
        let config = config("");
        let mut picture = picture(&config);
        let mut bytes = snapshot::write(&table(3), 2);
        bytes.pop();
        assert!(picture.take(bytes).is_err());
        assert_eq!(header(&mut picture, &config, "web.shop").as_deref(), Ok(VALUE));
    }
}
