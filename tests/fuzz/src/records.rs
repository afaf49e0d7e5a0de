//! Records in shared data, which an older version or another plugin may have written.

use crate::leader::takes_over;
use crate::views;
use burst_model::config::Artifact;
use burst_model::leader::Handover;
use burst_model::quarantine::Marks;
use burst_model::records::{Checkpoint, Confirmed, Failures, Record};
use burst_model::snapshot::Snapshot;
use burst_model::sync::election::{EXPIRY_TICKS, Elector, ElectorState, Lease, VmId};
use std::fmt::Debug;

/// Parses records. A record that can be parsed is written as the same bytes, and a successor continues from it.
pub(crate) fn records(bytes: &[u8]) -> bool {
    let marks = Marks::from_bytes(bytes);
    assert_eq!(Marks::from_bytes(&marks.to_bytes()), marks);
    let lease: Option<Lease> = record(bytes);
    if let Some(lease) = &lease {
        let state = ElectorState {
            has_served: false,
            is_idle: true,
            is_eligible: true,
        };
        let candidates = record(bytes);
        let _ = Elector::new(VmId(7), Artifact::HeaderOnly, false).observe(
            Some(lease),
            candidates.as_ref(),
            EXPIRY_TICKS,
            state,
        );
    }
    let (checkpoint, confirmed): (Option<Checkpoint>, Option<Confirmed>) = (record(bytes), record(bytes));
    let failures: Option<Failures> = record(bytes);
    let is_accepted = [
        lease.is_some(),
        checkpoint.is_some(),
        confirmed.is_some(),
        failures.is_some(),
    ]
    .contains(&true);
    if is_accepted {
        let lists = checkpoint
            .as_ref()
            .map(|checkpoint| checkpoint.lists.len())
            .unwrap_or_default();
        let confirmed = confirmed.unwrap_or_else(|| Confirmed {
            generation: 3,
            lists: vec![Some(crate::leader::T0); lists],
        });
        let handover = Handover {
            confirmed: Some(confirmed),
            failures,
            ..Handover::default()
        };
        takes_over(handover, bytes);
    }
    is_accepted
}

fn record<R: Record + PartialEq + Debug>(bytes: &[u8]) -> Option<R> {
    let record = R::from_bytes(bytes)?;
    assert_eq!(R::from_bytes(&record.to_bytes()).as_ref(), Some(&record));
    Some(record)
}

/// Opens a snapshot. If that succeeds, every view serves it, and a leader takes it over.
pub(crate) fn snapshot(bytes: &[u8]) -> bool {
    let Ok(snapshot) = Snapshot::open(bytes.to_vec()) else {
        return false;
    };
    views::serve_all(bytes);
    let sections = ["services", "hpas"].map(|kind| snapshot.section(kind).map(|section| section.rows().count()));
    let handover = Handover {
        snapshot: Some(snapshot),
        ..Handover::default()
    };
    takes_over(handover, &[]);
    sections.iter().any(Option::is_some)
}
