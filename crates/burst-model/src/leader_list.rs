//! The leaders of a proxy that read the cluster with different settings. Two listeners share a leader only if their settings
//! change the snapshot in the same way. Otherwise each reads the cluster for itself, and an operator should know which keys
//! differ.

use crate::config::{Config, Origin};
use crate::hash;
use crate::kube::{ObjectKind, Source};
use crate::records::Record;
use crate::snapshot::FORMAT;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A leader that was not announced for so long is gone.
const MAX_AGE: Duration = Duration::from_secs(30);

/// The keys of the configuration of which a difference makes two leaders.
const KEYS: [&str; 8] = [
    "authority",
    "source",
    "target_percent",
    "namespaces",
    "hpas",
    "services",
    "workloads",
    "header.extra_keys with endpoints.extra_fields",
];

/// The leaders of all settings, a record in shared data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaderList(Vec<AnnouncedLeader>);

/// A leader, by its settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnnouncedLeader {
    /// The [hash](Config::settings_hash) of the settings.
    pub settings: u64,
    /// The Envoy cluster that it reads.
    cluster: String,
    /// A hash of the value of each key of [`KEYS`].
    values: Vec<u64>,
    announced_at: Time,
}

impl Record for LeaderList {}

impl LeaderList {
    /// The key in shared data, whatever the configuration.
    #[must_use]
    pub fn key() -> String {
        format!("burst-metrics/{FORMAT}/leaders")
    }

    /// Adds a leader, or renews its announcement, and removes those that are gone.
    pub fn announce(&mut self, own: AnnouncedLeader) {
        let now = own.announced_at;
        self.0
            .retain(|other| other.settings != own.settings && other.is_alive(now));
        self.0.push(own);
    }

    /// The leaders that read the same Envoy cluster with other settings.
    pub fn others(&self, own: &AnnouncedLeader) -> impl Iterator<Item = &AnnouncedLeader> {
        let (settings, cluster, now) = (own.settings, own.cluster.as_str(), own.announced_at);
        self.0
            .iter()
            .filter(move |other| other.settings != settings && other.cluster == cluster && other.is_alive(now))
    }
}

impl AnnouncedLeader {
    /// The leader for that configuration.
    #[must_use]
    pub fn new(config: &Config, now: Time) -> Self {
        let content = &config.content;
        let sources_of = |kind: ObjectKind| content.sources.iter().filter(move |source| source.kind == kind);
        let lists = |kind| hash::of(&distinct(sources_of(kind).map(selection).collect()));
        let namespaces = content.sources.iter().map(|source| &source.namespace).collect();
        let source = match &config.origin {
            Origin::Kubernetes => None,
            Origin::Hub { path } => Some(path),
        };
        Self {
            settings: config.settings_hash(),
            cluster: config.api.cluster.clone(),
            values: vec![
                hash::of(&config.api.authority),
                hash::of(&source),
                hash::of(&content.target),
                hash::of(&distinct(namespaces)),
                lists(ObjectKind::Hpas),
                lists(ObjectKind::Services),
                lists(ObjectKind::Workloads),
                hash::of(&content.signals),
            ],
            announced_at: now,
        }
    }

    /// The keys with different values, as text.
    #[must_use]
    pub fn differences(&self, other: &Self) -> String {
        let pairs = KEYS.iter().zip(self.values.iter().zip(&other.values));
        let keys: Vec<_> = pairs
            .filter(|(_, (own, other))| own != other)
            .map(|(key, _)| *key)
            .collect();
        match keys.is_empty() {
            // An announcement of another version of the filter.
            true => "an unknown key".to_owned(),
            false => keys.join(", "),
        }
    }

    /// An announcement from the future comes from a clock that was set back. Its leader announces itself again within seconds.
    fn is_alive(&self, now: Time) -> bool {
        self.announced_at <= now && now.since(self.announced_at) <= MAX_AGE
    }
}

/// What is listed, whatever the namespace.
fn selection(source: &Source) -> (String, &Option<String>, &Option<String>) {
    (
        source.resource.to_string(),
        &source.label_selector,
        &source.field_selector,
    )
}

/// Removes repetitions. The order of the configuration stays.
fn distinct<T: PartialEq>(all: Vec<T>) -> Vec<T> {
    let mut distinct = Vec::with_capacity(all.len());
    for one in all {
        if !distinct.contains(&one) {
            distinct.push(one);
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Artifact;

    fn leader(more: &str, at: u64) -> AnnouncedLeader {
        leader_of("k", more, at)
    }

    fn leader_of(cluster: &str, more: &str, at: u64) -> AnnouncedLeader {
        let json = format!(r#"{{"cluster":"{cluster}"{more}}}"#);
        let config = Config::parse(json.as_bytes(), Artifact::Full).unwrap();
        AnnouncedLeader::new(&config, Time::from_unix_millis(at * 1000))
    }

    #[test]
    fn each_key_that_makes_a_second_leader_is_named() {
        let plain = leader("", 0);
        for (more, keys) in [
            (r#","authority":"api.example""#, "authority"),
            (
                r#","authority":"kubernetes.default.svc","source":"hub""#,
                "source, namespaces, hpas, services, workloads",
            ),
            (r#","target_percent":70"#, "target_percent"),
            (r#","namespaces":["shop","web"]"#, "namespaces"),
            (r#","hpas":{"label_selector":"a=b"}"#, "hpas"),
            (
                r#","services":{"field_selector":"a=b"},"target_percent":1"#,
                "target_percent, services",
            ),
            (r#","workloads":[]"#, "workloads"),
            (
                r#","endpoints":{"extra_fields":["state"]}"#,
                "header.extra_keys with endpoints.extra_fields",
            ),
        ] {
            let other = leader(more, 0);
            assert_eq!(plain.differences(&other), keys);
            assert_ne!(plain.settings, other.settings, "{more}");
        }
    }

    #[test]
    fn every_setting_that_changes_the_hash_is_named_and_no_other_setting() {
        for same in [
            r#","metrics_apis":{"filter_chain":"m","policies":{"root_namespace":"a"}},"requests":{}"#,
            r#","poll_interval":"1s","sync":{"mode":"list"},"header":{"name":"x-load"}"#,
        ] {
            let (plain, other) = (leader("", 0), leader(same, 0));
            assert_eq!(
                (plain.settings, &plain.values),
                (other.settings, &other.values),
                "{same}"
            );
        }
    }

    #[test]
    fn the_others_are_those_that_are_alive_and_read_the_same_cluster() {
        let mut list = LeaderList::default();
        for other in [
            leader(r#","target_percent":70"#, 0),
            leader(r#","target_percent":60"#, 50),
            leader_of("another", "", 50),
            leader("", 50),
        ] {
            list.announce(other);
        }
        let own = leader("", 60);
        let others: Vec<_> = list.others(&own).map(|other| other.settings).collect();
        assert_eq!(others, [leader(r#","target_percent":60"#, 0).settings]);
        assert_eq!(list.others(&leader("", 81)).count(), 0, "they are gone");
    }
}
