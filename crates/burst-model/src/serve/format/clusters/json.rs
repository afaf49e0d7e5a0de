//! `scope=all&format=json`: the clusters with their ages, and the numbers of each Service by cluster, with their sum.

use super::super::json::push_object;
use super::super::{push, push_milli, push_number};
use super::{Cluster, Clusters, LoadSum, ServiceRow};
use crate::signals::SignalSet;
use crate::time::Time;

/// A Service of short names in one cluster.
const TYPICAL_ROW: usize = 192;

pub(super) fn render(clusters: &Clusters<'_>, shown: SignalSet) -> String {
    let rows = clusters.0.iter().map(|cluster| cluster.rows.len()).sum::<usize>();
    let mut body = String::with_capacity(1024 + rows * TYPICAL_ROW);
    body.push_str("{\n    \"clusters\": {");
    let mut separator = "\n        \"";
    // Names contain no character that JSON escapes, because they were validated when they were read.
    for cluster in &clusters.0 {
        push(&mut body, &[separator, cluster.name, "\": "]);
        push_cluster(&mut body, cluster);
        separator = ",\n        \"";
    }
    body.push_str("\n    },\n    \"services\": {");
    let mut separator = "\n        \"";
    for service in clusters.services() {
        push(&mut body, &[separator, service.name, "\": {"]);
        push_service(&mut body, &service, shown);
        body.push_str("\n        }");
        separator = ",\n        \"";
    }
    body.push_str("\n    }\n}\n");
    body
}

/// The state of a cluster, and when it was read if it ever was.
fn push_cluster(body: &mut String, cluster: &Cluster<'_>) {
    push(body, &["{\"state\": \"", cluster.state.name(), "\""]);
    if let Some(read) = cluster.state.read() {
        body.push_str(", \"asOf\": ");
        push_number(body, read.at.unix_seconds());
        body.push_str(", \"age\": ");
        push_number(body, read.age.as_secs());
    }
    body.push('}');
}

fn push_service(body: &mut String, service: &ServiceRow<'_>, shown: SignalSet) {
    body.push_str("\n            \"clusters\": {");
    let mut separator = "\n                \"";
    for (cluster, state, entry) in &service.of {
        push(body, &[separator, cluster, "\": "]);
        let as_of = state.read().map_or(Time::default(), |read| read.at);
        push_object(body, entry, shown, as_of);
        separator = ",\n                \"";
    }
    body.push_str("\n            },\n            \"sum\": ");
    push_sum(body, service.sum());
}

fn push_sum(body: &mut String, sum: LoadSum) {
    for (key, count) in [
        ("{\"current\": ", sum.current),
        (", \"target\": ", sum.target),
        (", \"max\": ", sum.max),
        (", \"headroom\": ", sum.headroom),
    ] {
        body.push_str(key);
        push_number(body, count);
    }
    if let Some(milli) = sum.utilization_milli() {
        body.push_str(", \"utilization\": ");
        push_milli(body, milli);
    }
    body.push('}');
}
