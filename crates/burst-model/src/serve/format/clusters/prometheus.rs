//! `scope=all&format=prometheus`: the gauges of each Service with the label `cluster`, and those of the sums with names of
//! their own: with the same name, a query that adds up the clusters would count each twice.

use super::super::prometheus::{GAUGES, Group, READ, READ_HELP, push_gauges, push_head, push_labels};
use super::super::{push, push_milli, push_number};
use super::{Clusters, LoadSum};
use crate::index::SERVICES;
use crate::metric::{ReplicaMetric, ServedMetric};
use crate::peers::PeerState;
use crate::signals::SignalSet;

/// Whether a cluster counts.
const FRESH: &str = "burst_cluster_fresh";

pub(super) fn render(clusters: &Clusters<'_>, shown: SignalSet) -> String {
    let mut body = String::new();
    push_head(
        &mut body,
        FRESH,
        "1 if the numbers of the cluster count, 0 if they are stale or were never read.",
    );
    for cluster in &clusters.0 {
        push(&mut body, &[FRESH, "{cluster=\"", cluster.name, "\"} "]);
        push_number(&mut body, u8::from(matches!(cluster.state, PeerState::Fresh(_))));
        body.push('\n');
    }
    push_head(&mut body, READ, READ_HELP);
    for cluster in &clusters.0 {
        if let Some(read) = cluster.state.read() {
            push(&mut body, &[READ, "{cluster=\"", cluster.name, "\"} "]);
            push_number(&mut body, read.at.unix_seconds());
            body.push('\n');
        }
    }
    let groups: Vec<_> = clusters
        .0
        .iter()
        .map(|cluster| Group {
            cluster: Some(cluster.name),
            rows: &cluster.rows,
        })
        .collect();
    push_gauges(&mut body, SERVICES, &groups, shown);
    push_sums(&mut body, clusters);
    body
}

fn push_sums(body: &mut String, clusters: &Clusters<'_>) {
    let sums: Vec<_> = clusters
        .services()
        .map(|service| (service.name, service.sum()))
        .collect();
    for (metric, help) in GAUGES {
        let of_cluster = ServedMetric::Replicas(metric).name();
        let name = of_cluster.replacen("burst_", "burst_all_clusters_", 1);
        push_head(body, &name, &format!("Sum over the clusters that count. {help}"));
        for (service, sum) in &sums {
            body.push_str(&name);
            push_labels(body, None, SERVICES, service);
            match milli(metric, *sum) {
                Some(milli) => push_milli(body, milli),
                None => body.push_str("NaN"),
            }
            body.push('\n');
        }
    }
}

/// The value in thousandths. `None` for the utilization of a maximum of 0.
fn milli(metric: ReplicaMetric, sum: LoadSum) -> Option<u64> {
    let replicas = |count: u64| Some(count.saturating_mul(1000));
    match metric {
        ReplicaMetric::Current => replicas(sum.current),
        ReplicaMetric::Headroom => replicas(sum.headroom),
        ReplicaMetric::Max => replicas(sum.max),
        ReplicaMetric::Target => replicas(sum.target),
        ReplicaMetric::Utilization => sum.utilization_milli(),
    }
}
