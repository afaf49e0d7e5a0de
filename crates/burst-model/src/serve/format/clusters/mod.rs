//! `scope=all`: the Services of several clusters in one document, with the sum of each Service.

mod json;
mod prometheus;

use super::{Rendered, Rows};
use crate::load::Load;
use crate::peers::PeerState;
use crate::signals::SignalSet;
use crate::snapshot::Entry;
use std::iter::Peekable;

/// The formats of a document about several clusters, with the signals that it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::serve) enum ClustersFormat {
    /// `docs/burstmetrics-all.schema.json` describes it.
    Json(SignalSet),
    /// The text-based exposition format of Prometheus.
    Prometheus(SignalSet),
}

/// What a document says of one cluster.
#[derive(Clone, Copy, Debug)]
pub(in crate::serve) struct Cluster<'a> {
    pub(in crate::serve) name: &'a str,
    pub(in crate::serve) state: PeerState,
    /// Its Services; none if it does not count.
    pub(in crate::serve) rows: Rows<'a>,
}

/// The clusters of a document, the own one first.
#[derive(Debug)]
pub(in crate::serve) struct Clusters<'a>(pub(in crate::serve) Vec<Cluster<'a>>);

/// A Service in all clusters that have it.
#[derive(Debug)]
struct ServiceRow<'a> {
    name: &'a str,
    /// The names of the clusters, with what each says.
    of: Vec<(&'a str, PeerState, Entry<'a>)>,
}

/// The load of a Service in all clusters that count. The sum of 17 clusters fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LoadSum {
    current: u64,
    target: u64,
    max: u64,
    /// What the clusters have left: one that has more replicas than its maximum takes nothing from the others.
    headroom: u64,
}

impl ClustersFormat {
    /// The entity tag, from a hash of the rows and of the states. It is weak, because the body also has the time of each read.
    pub(in crate::serve) fn etag(self, content: u64) -> String {
        match self {
            Self::Json(_) => format!("W/\"{content:016x}-all-json\""),
            Self::Prometheus(_) => format!("W/\"{content:016x}-all-prometheus\""),
        }
    }

    /// The signals that it shows.
    pub(in crate::serve) fn signals(self) -> SignalSet {
        match self {
            Self::Json(shown) | Self::Prometheus(shown) => shown,
        }
    }

    pub(in crate::serve) fn render(self, clusters: &Clusters<'_>) -> Rendered {
        let (content_type, body) = match self {
            Self::Json(shown) => ("application/json; charset=utf-8", json::render(clusters, shown)),
            Self::Prometheus(shown) => (
                "text/plain; version=0.0.4; charset=utf-8",
                prometheus::render(clusters, shown),
            ),
        };
        Rendered { content_type, body }
    }
}

impl<'a> Clusters<'a> {
    /// Whether there is any row.
    pub(in crate::serve) fn has_rows(&self) -> bool {
        self.0.iter().any(|cluster| cluster.rows.len() > 0)
    }

    /// The Services of all clusters, sorted by name.
    fn services(&self) -> impl Iterator<Item = ServiceRow<'a>> {
        let mut rows: Vec<_> = self
            .0
            .iter()
            .map(|cluster| (cluster.name, cluster.state, cluster.rows.iter().peekable()))
            .collect();
        std::iter::from_fn(move || next_service(&mut rows))
    }
}

/// Takes the next Service by name out of sorted rows.
fn next_service<'a>(
    rows: &mut [(&'a str, PeerState, Peekable<impl Iterator<Item = Entry<'a>>>)],
) -> Option<ServiceRow<'a>> {
    let first = rows
        .iter_mut()
        .filter_map(|(.., rows)| rows.peek().map(|row| row.name))
        .min()?;
    let of = rows.iter_mut().filter_map(|(cluster, state, rows)| {
        let row = rows.next_if(|row| row.name == first)?;
        Some((*cluster, *state, row))
    });
    Some(ServiceRow {
        name: first,
        of: of.collect(),
    })
}

impl ServiceRow<'_> {
    fn sum(&self) -> LoadSum {
        self.of
            .iter()
            .fold(LoadSum::default(), |sum, (.., row)| sum.with(row.load))
    }
}

impl LoadSum {
    fn with(self, load: Load) -> Self {
        let add = |sum: u64, count: u32| sum.saturating_add(count.into());
        Self {
            current: add(self.current, load.current),
            target: add(self.target, load.target),
            max: add(self.max, load.max),
            headroom: add(self.headroom, load.headroom()),
        }
    }

    /// The current replicas in thousandths of the maximum, rounded down. `None` if the maximum is 0.
    fn utilization_milli(self) -> Option<u64> {
        self.current.saturating_mul(1000).checked_div(self.max)
    }
}

#[cfg(test)]
mod tests;
