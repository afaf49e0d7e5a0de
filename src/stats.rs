//! The stats of the filter and their names. Envoy shows them as `wasmcustom.NAME`, Prometheus as `NAME`. They have no
//! labels, because a label is part of the name unless the bootstrap of the proxy extracts it.
//!
//! A counter is the sum over all threads. A gauge shows what was written last: the leader writes the totals, and every VM
//! writes the age of its snapshot, so that the age still grows when no VM leads.

use crate::host::HostMetric;
use burst_metrics_api::ApiVersion;
use burst_model::config::Part;
use burst_model::kube::{PollOutcome, Source};
use burst_model::leader::{Readable, Totals};
use burst_model::serve::{Absence, ServingCache};
use burst_model::time::Time;
use burst_model::upstream::Unmapped;
use burst_model::version::Version;
use std::cell::{Cell, RefCell};
use std::time::Duration;

/// A counter that is passed to the host once a tick, so that an increment on the response path is one addition.
#[derive(Debug)]
pub(crate) struct Counter {
    metric: HostMetric,
    pending: Cell<i64>,
}

impl Counter {
    fn new(name: &str) -> Self {
        Self {
            metric: HostMetric::counter(name),
            pending: Cell::new(0),
        }
    }

    pub(crate) fn count(&self) {
        self.count_all(1);
    }

    pub(crate) fn count_all(&self, count: usize) {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        self.pending.set(self.pending.get().saturating_add(count));
    }

    fn flush(&self) {
        match self.pending.take() {
            0 => {} // The host refuses an increment by 0.
            pending => self.metric.add(pending),
        }
    }
}

/// Defines [`Stats`]: a counter or gauge for each line, with its name.
macro_rules! stats {
    (
        counters { $($counter:ident = $counter_name:literal,)* }
        gauges { $($gauge:ident = $gauge_name:literal,)* }
        histograms { $($histogram:ident = $histogram_name:literal,)* }
    ) => {
        /// All stats of a VM.
        #[derive(Debug)]
        pub(crate) struct Stats {
            $(pub(crate) $counter: Counter,)*
            $(pub(crate) $gauge: HostMetric,)*
            $($histogram: HostMetric,)*
            polls: [Counter; PollOutcome::ALL.len()],
            unmapped: [Counter; Unmapped::ALL.len()],
            replies: [(u16, Counter); REPLIES.len()],
            /// Not in the header-only module, which answers no requests.
            held: Option<HeldRequests>,
            /// Not in the header-only module, which reads no peers.
            peers: Option<PeerStats>,
            /// By the names of the gauges.
            unreadable: RefCell<Vec<(String, HostMetric)>>,
        }

        impl Stats {
            /// Defines all stats. A host makes a new stat for each definition, so a VM does it once. The VM of a canary
            /// never does it: its increments would stay.
            pub(crate) fn define() -> Self {
                let version = Version::own().map_or(0, Version::number);
                // Written once: if an old and a new binary run side by side, the newer one writes last.
                HostMetric::gauge("burst_filter_version").set(version);
                Self {
                    $($counter: Counter::new($counter_name),)*
                    $($gauge: HostMetric::gauge($gauge_name),)*
                    $($histogram: HostMetric::histogram($histogram_name),)*
                    polls: PollOutcome::ALL.map(|outcome| Counter::new(&format!("burst_poll_{}_total", outcome.as_str()))),
                    unmapped: Unmapped::ALL
                        .map(|reason| Counter::new(&format!("burst_header_absent_{}_total", reason.as_str()))),
                    replies: REPLIES.map(|status| (status, Counter::new(&format!("burst_reply_{status}_total")))),
                    held: (!cfg!(feature = "header-only")).then(HeldRequests::define),
                    peers: (!cfg!(feature = "header-only")).then(PeerStats::define),
                    unreadable: RefCell::default(),
                }
            }

            /// Passes the counts to the host.
            pub(crate) fn flush(&self) {
                self.held.iter().for_each(HeldRequests::flush);
                self.peers.iter().for_each(PeerStats::flush);
                let replies = self.replies.iter().map(|(_, counter)| counter);
                [$(&self.$counter,)*]
                    .into_iter()
                    .chain(&self.polls)
                    .chain(&self.unmapped)
                    .chain(replies)
                    .for_each(Counter::flush);
            }
        }
    };
}

stats! {
    counters {
        leader_changes = "burst_leader_changes_total",
        header_added = "burst_header_added_total",
        header_gated = "burst_header_gated_total",
        header_upstream_kept = "burst_header_upstream_kept_total",
        no_cluster = "burst_header_absent_no_cluster_total",
        no_entry = "burst_header_absent_no_entry_total",
        unsynced = "burst_header_absent_unsynced_total",
        stale = "burst_header_absent_stale_total",
        degraded_added = "burst_degraded_added_total",
        degraded_dry_run = "burst_degraded_dry_run_total",
        degraded_entered = "burst_degraded_entered_total",
        degraded_lost = "burst_degraded_lost_total",
        retry_after_added = "burst_retry_after_added_total",
        retry_after_dry_run = "burst_retry_after_dry_run_total",
        orca_added = "burst_orca_added_total",
        orca_absent = "burst_orca_absent_total",
        orca_upstream_kept = "burst_orca_upstream_kept_total",
        orca_upstream_invalid = "burst_orca_upstream_invalid_total",
        orca_dry_run = "burst_orca_dry_run_total",
        reports_ok = "burst_report_ok_total",
        reports_failed = "burst_report_failed_total",
        hub_reports_taken = "burst_hub_report_taken_total",
        hub_reports_refused = "burst_hub_report_refused_total",
        hub_reports_late = "burst_hub_report_late_total",
        hub_reports_evicted = "burst_hub_report_evicted_total",
        reviews_allowed = "burst_review_allowed_total",
        reviews_denied = "burst_review_denied_total",
        reviews_failed = "burst_review_failed_total",
        offers_ok = "burst_fallback_list_ok_total",
        offers_failed = "burst_fallback_list_failed_total",
        passed_on = "burst_fallback_request_total",
        quarantined_records = "burst_quarantined_records_total",
        insecure_refused = "burst_metrics_apis_insecure_total",
        overflow_sent = "burst_overflow_sent_total",
        overflow_dry_run = "burst_overflow_dry_run_total",
        overflow_removed = "burst_overflow_removed_total",
        overflow_stale = "burst_overflow_stale_total",
        uncounted_endpoints = "burst_requests_uncounted_endpoint_total",
    }
    gauges {
        hub_proxies = "burst_hub_proxies",
        hub_report_bytes = "burst_hub_report_bytes",
        uncounted_services = "burst_requests_left_out_services",
        counted_timestamp = "burst_requests_timestamp_seconds",
        objects = "burst_objects",
        bad_objects = "burst_bad_objects",
        over_limits = "burst_objects_over_limits",
        services = "burst_services",
        refused_policy_namespaces = "burst_refused_policy_namespaces",
        unobserved_hpas = "burst_unobserved_hpas",
        overshadowed_hpas = "burst_overshadowed_hpas",
        foreign_endpoints = "burst_foreign_endpoints",
        disputed_pods = "burst_disputed_pods",
        snapshot_timestamp = "burst_snapshot_timestamp_seconds",
        snapshot_generation = "burst_snapshot_generation",
        leader_timestamp = "burst_leader_timestamp_seconds",
        other_leaders = "burst_other_leaders",
    }
    histograms {
        custom_metrics_age = "burst_custom_metrics_age_milliseconds",
        external_metrics_age = "burst_external_metrics_age_milliseconds",
    }
}

/// The statuses of local replies.
const REPLIES: [u16; 13] = [200, 204, 304, 400, 401, 403, 404, 405, 406, 414, 429, 500, 503];

/// Requests that wait, and those that are refused because too many are under way.
#[derive(Debug)]
struct HeldRequests {
    rejected_reviews: Counter,
    rejected_bulk: Counter,
    long_polls: Counter,
    rejected_long_polls: Counter,
}

impl HeldRequests {
    fn define() -> Self {
        Self {
            rejected_reviews: Counter::new("burst_review_rejected_total"),
            rejected_bulk: Counter::new("burst_reply_bulk_rejected_total"),
            long_polls: Counter::new("burst_long_poll_total"),
            rejected_long_polls: Counter::new("burst_long_poll_rejected_total"),
        }
    }

    fn flush(&self) {
        let Self {
            rejected_reviews,
            rejected_bulk,
            long_polls,
            rejected_long_polls,
        } = self;
        [rejected_reviews, rejected_bulk, long_polls, rejected_long_polls]
            .into_iter()
            .for_each(Counter::flush);
    }
}

/// What the leader reads of other clusters.
#[derive(Debug)]
struct PeerStats {
    polls_ok: Counter,
    polls_failed: Counter,
    unavailable: HostMetric,
}

impl PeerStats {
    fn define() -> Self {
        Self {
            polls_ok: Counter::new("burst_peer_poll_ok_total"),
            polls_failed: Counter::new("burst_peer_poll_failed_total"),
            unavailable: HostMetric::gauge("burst_peers_unavailable"),
        }
    }

    fn flush(&self) {
        let Self {
            polls_ok,
            polls_failed,
            unavailable: _,
        } = self;
        [polls_ok, polls_failed].into_iter().for_each(Counter::flush);
    }
}

impl Stats {
    /// Counts the outcome of a request to a peer.
    pub(crate) fn count_peer_poll(&self, outcome: PollOutcome) {
        if let Some(peers) = &self.peers {
            let counter = match outcome {
                PollOutcome::Ok => &peers.polls_ok,
                _ => &peers.polls_failed,
            };
            counter.count();
        }
    }

    /// Shows how many peers are stale or were never read, as the leader's VM serves them.
    pub(crate) fn show_unavailable_peers(&self, unavailable: usize) {
        if let Some(peers) = &self.peers {
            peers.unavailable.set(u64::try_from(unavailable).unwrap_or(u64::MAX));
        }
    }

    pub(crate) fn count_poll(&self, outcome: PollOutcome) {
        let place = PollOutcome::ALL.iter().position(|known| *known == outcome);
        if let Some(counter) = place.and_then(|place| self.polls.get(place)) {
            counter.count();
        }
    }

    pub(crate) fn count_absence(&self, absence: Absence) {
        let counter = match absence {
            Absence::NoCluster => Some(&self.no_cluster),
            Absence::Unmapped(reason) => self.unmapped(reason),
            Absence::NoEntry => Some(&self.no_entry),
            Absence::Unsynced => Some(&self.unsynced),
            Absence::Stale => Some(&self.stale),
        };
        if let Some(counter) = counter {
            counter.count();
        }
    }

    fn unmapped(&self, reason: Unmapped) -> Option<&Counter> {
        let place = Unmapped::ALL.iter().position(|known| *known == reason);
        place.and_then(|place| self.unmapped.get(place))
    }

    pub(crate) fn count_reply(&self, status: u16) {
        if let Some((_, counter)) = self.replies.iter().find(|(known, _)| *known == status) {
            counter.count();
        }
    }

    /// Counts a request that was refused because too many wait for a review.
    pub(crate) fn count_rejected_review(&self) {
        self.held.iter().for_each(|held| held.rejected_reviews.count());
    }

    /// Counts a bulk reply that was refused because too many are under way.
    pub(crate) fn count_rejected_bulk(&self) {
        self.held.iter().for_each(|held| held.rejected_bulk.count());
    }

    /// Counts a request that waits for a change.
    pub(crate) fn count_long_poll(&self) {
        self.held.iter().for_each(|held| held.long_polls.count());
    }

    /// Counts a request that was refused because too many wait for a change.
    pub(crate) fn count_rejected_long_poll(&self) {
        self.held.iter().for_each(|held| held.rejected_long_polls.count());
    }

    /// Records the age of the values in a response of the metrics APIs.
    pub(crate) fn record_age(&self, api: ApiVersion, age: Duration) {
        let histogram = match api {
            ApiVersion::CustomV1Beta1 | ApiVersion::CustomV1Beta2 => self.custom_metrics_age,
            ApiVersion::ExternalV1Beta1 => self.external_metrics_age,
        };
        histogram.set(u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
    }

    /// Shows what the leader of a part has read.
    pub(crate) fn show_totals(&self, part: Part, totals: &Totals) {
        if part == Part::Metrics {
            return self.refused_policy_namespaces.set(totals.refused_policies);
        }
        self.objects.set(totals.objects);
        self.bad_objects.set(totals.bad_objects);
        self.over_limits.set(totals.over_limits);
        self.services.set(totals.services);
        self.unobserved_hpas.set(totals.findings.unobserved);
        self.overshadowed_hpas.set(totals.findings.shadowed);
        self.foreign_endpoints.set(totals.findings.foreign_endpoints);
        self.disputed_pods.set(totals.findings.disputed_pods);
    }

    /// Shows whether the leader can read a list. The first call defines the gauge, so that a thread that never leads
    /// defines none.
    pub(crate) fn show_list(&self, source: &Source, readable: Readable) {
        let mut name = format!("burst_unreadable_{}", source.resource.plural);
        if let Some(namespace) = &source.namespace {
            name = format!("{name}_in_{namespace}");
        }
        let mut gauges = self.unreadable.borrow_mut();
        let known = gauges.iter().find(|(own, _)| *own == name).map(|(_, gauge)| *gauge);
        let gauge = known.unwrap_or_else(|| {
            let gauge = HostMetric::gauge(&name);
            gauges.push((name, gauge));
            gauge
        });
        gauge.set(match readable {
            Readable::Yes => 0,
            Readable::No => 1,
        });
    }

    /// Shows that this VM leads. Without a leader the time stays, because no other VM writes it.
    pub(crate) fn show_leader(&self, now: Time) {
        self.leader_timestamp.set(now.unix_seconds());
    }

    /// Shows the age of the snapshot that this VM serves.
    pub(crate) fn show_age(&self, cache: &ServingCache) {
        if let (Some(as_of), Some(generation)) = (cache.as_of(), cache.generation()) {
            self.snapshot_timestamp.set(as_of.unix_seconds());
            self.snapshot_generation.set(generation);
        }
    }
}
