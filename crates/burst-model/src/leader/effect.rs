//! The effects of a leader and of a hub client, which the shell carries out.

use crate::hub_request::HubRequest;
use crate::index::JoinFindings;
use crate::kube::{PollOutcome, Source};
use crate::policies::PolicySets;
use crate::records::{Confirmed, Failures};
use crate::sync::scheduler::ScheduledRequest;

/// One thing that the shell is to do.
#[derive(Debug)]
pub enum Effect {
    /// Send this request to the Kubernetes API.
    Request(ScheduledRequest),
    /// Send this request to the hub. Only a spoke has one.
    RequestHub(HubRequest),
    /// Write a new snapshot to shared data. It comes before its [`Effect::Confirm`].
    PublishSnapshot(Vec<u8>),
    /// Write the policies that are in force to shared data. They come before their [`Effect::Confirm`].
    PublishPolicies(PolicySets),
    /// Write the bytes of a [`Checkpoint`](crate::records::Checkpoint) to shared data. They come after an
    /// [`Effect::Confirm`], which fails if this VM is no longer the leader.
    WriteCheckpoint(Vec<u8>),
    /// Write the current failures to shared data.
    RecordFailures(Failures),
    /// Set the gauges that describe the snapshot.
    SetGauges(Totals),
    /// Set the gauge that shows whether a list can be read.
    SetListGauge(Source, Readable),
    /// Write the times at which the cluster was last read to shared data.
    Confirm(Confirmed),
    /// Count the outcome of a request.
    CountPoll(PollOutcome),
    /// Log a warning.
    LogWarning(String),
    /// Log that something works again.
    LogInfo(String),
}

/// Whether a list can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readable {
    /// The last read succeeded.
    Yes,
    /// The API server refuses the list or does not know it, or the list failed for so long that it was excluded.
    No,
}

/// The numbers of objects behind a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Objects in all lists.
    pub objects: u64,
    /// Objects that were excluded from the last read of their list.
    pub bad_objects: u64,
    /// The excluded objects that exceed the limit of their namespace or list.
    pub over_limits: u64,
    /// Services whose replicas are known.
    pub services: u64,
    /// Namespaces whose policies are refused.
    pub refused_policies: u64,
    /// The findings of the join.
    pub findings: JoinFindings,
}
