//! The two parts of a configuration. Each has a leader, and keys in shared data of its own: so a proxy whose listeners differ
//! only in what the metrics APIs need still reads the cluster once.

use super::{Config, FallbackConfig, Origin, RequestPath};
use crate::hash;
use crate::kube::Source;

/// A part of a configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// The snapshot: HPAs, Services and workloads. Both modules read and serve it.
    #[default]
    Snapshot,
    /// What only the full module can use: policy objects, other adapters, counted requests and peers.
    Metrics,
}

/// The hashes in the keys of shared data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hashes {
    /// Of all settings that change what the leader of the part writes.
    settings: u64,
    /// Of all settings that change which objects it reads.
    lists: u64,
    /// The same as `settings` for [`Part::Metrics`].
    metrics: u64,
    /// The `settings` of modules without parts, whose snapshot depended on the settings of the metrics APIs too.
    previous: u64,
}

impl Hashes {
    pub(super) fn of(config: &Config) -> Self {
        let (api, content) = (&config.api, &config.content);
        let sources = content.sources.iter().map(Source::without_labels).collect();
        let settings_of = |sources: Vec<Source>, fallback: Option<&FallbackConfig>| {
            let content = (sources, content.target, content.signals);
            hash::of(&(&api.cluster, &api.authority, &config.origin, content, fallback))
        };
        let settings = settings_of(sources, None);
        let apis = config.metrics_apis.as_deref();
        let fallback = apis.map(|apis| &apis.fallback).filter(|fallback| !fallback.is_empty());
        let counting = config
            .requests
            .as_ref()
            .map(|requests| (requests.window, requests.counting()));
        let counting = hash::of(&(settings, counting, &config.upstreams));
        let metrics = match fallback.is_none() && config.policy_sources.is_empty() {
            true => counting,
            false => hash::of(&(counting, fallback, &config.policy_sources)),
        };
        let metrics = config
            .peers
            .as_deref()
            .map_or(metrics, |peers| hash::of(&(metrics, peers)));
        Self {
            settings,
            lists: hash::of(&(&api.cluster, &api.authority, &content.sources)),
            metrics,
            previous: settings_of(config.sources().cloned().collect(), fallback),
        }
    }
}

impl Config {
    /// Which part of the configuration this is.
    #[must_use]
    pub fn part(&self) -> Part {
        self.part
    }

    /// Returns the second part of this configuration; `None` if it configures nothing that belongs to it. Its
    /// `content` has the lists of policy objects only.
    #[must_use]
    pub fn metrics_part(&self) -> Option<RequestPath<Self>> {
        let apis = self.metrics_apis.as_deref();
        let has_fallback = apis.is_some_and(|apis| !apis.fallback.is_empty());
        let is_needed =
            has_fallback || self.requests.is_some() || self.peers.is_some() || !self.policy_sources.is_empty();
        if !is_needed {
            return None;
        }
        let mut part = self.clone();
        part.part = Part::Metrics;
        // A hub has no policy objects. The other work of this part needs none.
        part.origin = Origin::Kubernetes;
        part.content.sources = std::mem::take(&mut part.policy_sources);
        part.hashes = Hashes {
            settings: self.hashes.metrics,
            lists: hash::of(&(&self.api.cluster, &self.api.authority, &part.content.sources)),
            ..self.hashes
        };
        RequestPath::new(part)
    }

    /// Returns all lists that the filter reads: those of the snapshot, and those of policy objects.
    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        self.content.sources.iter().chain(&self.policy_sources)
    }

    /// Returns whether the snapshot has the labels of the objects, which the metrics APIs select by.
    #[must_use]
    pub fn keeps_labels(&self) -> bool {
        self.part == Part::Snapshot && self.content.sources.iter().any(|source| source.kept.labels)
    }

    /// Returns a hash of all settings that change what the leader of this part writes to shared data. Whether labels are
    /// kept does not count: a leader that keeps them serves both modules.
    #[must_use]
    pub fn settings_hash(&self) -> u64 {
        self.hashes.settings
    }

    /// Returns a hash of all settings that change which objects the leader of this part reads.
    #[must_use]
    pub fn lists_hash(&self) -> u64 {
        self.hashes.lists
    }

    /// Returns a hash of all settings of [`Part::Metrics`], which is in the keys of what its leader writes. Among them are those
    /// that change what is counted, and for which Service: counts by different settings must not be added up.
    #[must_use]
    pub fn metrics_hash(&self) -> u64 {
        self.hashes.metrics
    }

    /// Returns the hash that modules without parts have in the keys of what this part serves, if that is another one. Such
    /// a module may run in the same proxy, until an upgrade is complete.
    #[must_use]
    pub fn previous_settings_hash(&self) -> Option<u64> {
        let may_differ = match self.part {
            Part::Snapshot => true,
            Part::Metrics => !self.content.sources.is_empty(),
        };
        Some(self.hashes.previous).filter(|previous| may_differ && *previous != self.hashes.settings)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Artifact, Content};
    use super::*;
    use crate::kube::ObjectKind;

    fn parse(more: &str) -> Config {
        Config::parse(format!(r#"{{"cluster":"k"{more}}}"#).as_bytes(), Artifact::Full).unwrap()
    }

    const METRICS: &str = r#","metrics_apis":{"filter_chain":"m","fallback":{"external":{"cluster":"keda"}},
        "policies":{"root_namespace":"istio-system"}}"#;

    #[test]
    fn what_only_the_full_module_can_have_does_not_change_the_keys_of_the_snapshot() {
        let plain = Config::parse(br#"{"cluster":"k"}"#, Artifact::HeaderOnly).unwrap();
        for more in [
            METRICS,
            r#","metrics_apis":{"filter_chain":"m"}"#,
            r#","requests":{"hub":{"cluster":"hub"}}"#,
            r#","endpoints":{"prefix":"/load","page":true}"#,
            r#","header":{"when":{"request_header":"x-ask"}}"#,
        ] {
            let full = parse(more);
            assert_eq!(full.settings_hash(), plain.settings_hash(), "{more}");
        }
        let keeps_labels = [METRICS, r#","requests":{}"#].map(|more| parse(more).keeps_labels());
        assert_eq!(keeps_labels, [true, false]);
        assert_ne!(
            parse(METRICS).lists_hash(),
            plain.lists_hash(),
            "a checkpoint without labels is not continued"
        );
    }

    /// What the modules before computed, so that an upgrade finds their keys.
    fn before(config: &Config) -> u64 {
        let content = Content {
            sources: config.sources().cloned().collect(),
            ..config.content.clone()
        };
        let fallback = config.metrics_apis.as_deref().map(|apis| &apis.fallback);
        let fallback = fallback.filter(|fallback| !fallback.is_empty());
        hash::of(&(
            &config.api.cluster,
            &config.api.authority,
            &config.origin,
            content,
            fallback,
        ))
    }

    #[test]
    fn the_keys_of_the_modules_before_are_known() {
        for more in [
            "",
            r#","requests":{},"namespaces":["shop"],"header":{"extra_keys":["state"]}"#,
        ] {
            let config = parse(more);
            assert_eq!(
                (config.settings_hash(), config.previous_settings_hash()),
                (before(&config), None),
                "{more}"
            );
        }
        for more in [r#","metrics_apis":{"filter_chain":"m"}"#, METRICS] {
            let config = parse(more);
            assert_eq!(config.previous_settings_hash(), Some(before(&config)), "{more}");
            let part = config.metrics_part().map(RequestPath::into_inner);
            let previous = part.and_then(|part| part.previous_settings_hash());
            let expected = Some(before(&config)).filter(|_| more == METRICS);
            assert_eq!(previous, expected, "{more}");
        }
    }

    #[test]
    fn the_second_part_reads_policies_and_nothing_else() {
        let part = parse(METRICS).metrics_part().unwrap().into_inner();
        let kinds: Vec<_> = part.sources().map(|source| source.kind).collect();
        assert_eq!((part.part(), kinds), (Part::Metrics, vec![ObjectKind::Policies]));
        assert_eq!(part.settings_hash(), parse(METRICS).metrics_hash());
        assert!(!part.keeps_labels());
        for more in ["", r#","metrics_apis":{"filter_chain":"m","policies":{}}"#] {
            assert!(parse(more).metrics_part().is_none(), "{more}");
        }
        let spoke = parse(r#","source":"hub","requests":{}"#);
        let part = spoke.metrics_part().unwrap();
        assert_eq!((&part.origin, part.sources().count()), (&Origin::Kubernetes, 0));
    }

    #[test]
    fn its_keys_change_with_what_it_reads_and_counts() {
        let metrics = |more: &str| {
            let json = format!(r#","metrics_apis":{{"filter_chain":"m","policies":{{"root_namespace":"a"}}{more}}}"#);
            parse(&json).metrics_hash()
        };
        let plain = metrics("");
        assert_eq!(
            metrics(r#","authorization":"subject_access_review","labels":{"a":"b"}"#),
            plain
        );
        assert_ne!(metrics(r#","fallback":{"custom":{"cluster":"keda"}}"#), plain);
        assert_ne!(
            parse(r#","requests":{"window":"1m"}"#).metrics_hash(),
            parse(r#","requests":{}"#).metrics_hash()
        );
    }
}
