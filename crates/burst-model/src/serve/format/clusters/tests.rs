use super::*;
use crate::peers::Peers;
use crate::peers::tests::{Known, peers};
use crate::signals::SignalSet;

const NONE: SignalSet = SignalSet::NONE;

fn clusters(peers: &Peers) -> Clusters<'_> {
    let clusters = peers.iter().map(|peer| Cluster {
        name: peer.name(),
        state: peer.state(),
        rows: Rows::All(peer.services()),
    });
    Clusters(clusters.collect())
}

/// Two clusters that count, with one Service in both, a stale one and one that was never read.
fn four() -> Peers {
    peers(&[
        ("east", Known::Fresh(&[("shop/web", 1, 5), ("data/db", 9, 6)])),
        ("west", Known::Fresh(&[("shop/web", 3, 10), ("shop/api", 0, 0)])),
        ("north", Known::Stale(&[("shop/web", 2, 100)])),
        ("south", Known::Unread),
    ])
}

#[test]
fn json_has_the_numbers_by_cluster_their_sum_and_the_age_of_each() {
    let body = ClustersFormat::Json(NONE).render(&clusters(&four())).body;
    assert_eq!(
        body,
        r#"{
    "clusters": {
        "east": {"state": "fresh", "asOf": 1700000000, "age": 2},
        "west": {"state": "fresh", "asOf": 1700000000, "age": 2},
        "north": {"state": "stale", "asOf": 1700000000, "age": 75},
        "south": {"state": "unread"}
    },
    "services": {
        "data/db": {
            "clusters": {
                "east": {"service": "data/db", "current": 9, "target": 4, "max": 6, "headroom": 0, "utilization": 1.5, "asOf": 1700000000}
            },
            "sum": {"current": 9, "target": 4, "max": 6, "headroom": 0, "utilization": 1.5}
        },
        "shop/api": {
            "clusters": {
                "west": {"service": "shop/api", "current": 0, "target": 0, "max": 0, "headroom": 0, "asOf": 1700000000}
            },
            "sum": {"current": 0, "target": 0, "max": 0, "headroom": 0}
        },
        "shop/web": {
            "clusters": {
                "east": {"service": "shop/web", "current": 1, "target": 4, "max": 5, "headroom": 4, "utilization": 0.2, "asOf": 1700000000},
                "west": {"service": "shop/web", "current": 3, "target": 8, "max": 10, "headroom": 7, "utilization": 0.3, "asOf": 1700000000}
            },
            "sum": {"current": 4, "target": 12, "max": 15, "headroom": 11, "utilization": 0.266}
        }
    }
}
"#
    );
}

#[test]
fn json_is_what_the_schema_says() {
    let schema = include_str!("../../../../../../docs/burstmetrics-all.schema.json");
    let validator = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    for known in [four(), peers(&[("east", Known::Fresh(&[]))])] {
        let body = ClustersFormat::Json(SignalSet::ALL).render(&clusters(&known)).body;
        let json: serde_json::Value = serde_json::from_str(&body).unwrap();
        let errors: Vec<_> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
        assert_eq!(errors, [""; 0], "{body}");
    }
    for wrong in [
        r#"{"clusters": {}}"#,
        r#"{"clusters": {"east": {"state": "full"}}, "services": {}}"#,
        r#"{"clusters": {"east": {"state": "fresh"}}, "services": {}}"#,
        r#"{"clusters": {}, "services": {"shop/web": {"clusters": {}}}}"#,
        r#"{"clusters": {}, "services": {"web": {"clusters": {}, "sum": {"current": 1, "target": 1, "max": 1, "headroom": 0}}}}"#,
    ] {
        assert!(!validator.is_valid(&serde_json::from_str(wrong).unwrap()), "{wrong}");
    }
}

#[test]
fn prometheus_has_the_label_cluster_and_gauges_of_the_sums() {
    let body = ClustersFormat::Prometheus(NONE).render(&clusters(&four())).body;
    let samples = |name: &str| -> Vec<_> {
        let samples = body.lines().filter_map(|line| line.strip_prefix(name));
        samples.map(str::to_owned).collect()
    };
    assert_eq!(
        samples("burst_cluster_fresh{cluster="),
        [r#""east"} 1"#, r#""west"} 1"#, r#""north"} 0"#, r#""south"} 0"#]
    );
    assert_eq!(
        samples("burst_read_timestamp_seconds{cluster="),
        [
            r#""east"} 1700000000"#,
            r#""west"} 1700000000"#,
            r#""north"} 1700000000"#
        ]
    );
    assert_eq!(
        samples("burst_headroom{"),
        [
            r#"cluster="east",namespace="data",service="db"} 0"#,
            r#"cluster="east",namespace="shop",service="web"} 4"#,
            r#"cluster="west",namespace="shop",service="api"} 0"#,
            r#"cluster="west",namespace="shop",service="web"} 7"#,
        ]
    );
    assert_eq!(
        samples("burst_all_clusters_headroom{"),
        [
            r#"namespace="data",service="db"} 0"#,
            r#"namespace="shop",service="api"} 0"#,
            r#"namespace="shop",service="web"} 11"#,
        ]
    );
    assert_eq!(
        samples("burst_all_clusters_utilization{"),
        [
            r#"namespace="data",service="db"} 1.5"#,
            r#"namespace="shop",service="api"} NaN"#,
            r#"namespace="shop",service="web"} 0.266"#,
        ]
    );
    let heads: std::collections::BTreeSet<_> = body.lines().filter(|line| line.starts_with("# TYPE")).collect();
    assert_eq!(heads.len(), 2 + 2 * GAUGE_COUNT, "each metric has one head");
}

/// Current, target, max, headroom and utilization.
const GAUGE_COUNT: usize = 5;

#[test]
fn the_largest_loads_add_up() {
    let most = ("shop/web", u32::MAX, u32::MAX);
    let rows: [_; 1] = [most];
    let peers = peers(&[("east", Known::Fresh(&rows)), ("west", Known::Fresh(&rows))]);
    let sum = clusters(&peers).services().next().unwrap().sum();
    assert_eq!((sum.max, sum.headroom), (2 * u64::from(u32::MAX), 0));
    assert_eq!(sum.utilization_milli(), Some(1000));
}
