//! The stats, each named once. Envoy shows them as `wasmcustom.NAME`, Prometheus as `NAME`; they carry no labels,
//! because a label is part of the name unless the proxy's bootstrap knows how to cut it out.
//!
//! Counters add up over all threads. A gauge is its last writer's: the totals are the leader's, the age is everyone's,
//! so that it does not freeze with a leader that is gone.

use crate::host::HostMetric;
use burst_model::kube::{PollOutcome, Source};
use burst_model::leader::{Readable, Totals};
use burst_model::serve::metrics::Api;
use burst_model::serve::{Absence, ServingCache};
use burst_model::time::Time;
use burst_model::upstream::Unmapped;
use burst_model::version::Version;
use std::cell::{Cell, RefCell};
use std::time::Duration;

/// A counter that is told to the host once a tick: an increment on the response path is one addition.
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
            0 => {} // The host refuses an increment by nothing.
            pending => self.metric.add(pending),
        }
    }
}

/// Requests that are refused because too much is under way.
#[derive(Debug)]
struct Rejected {
    reviews: Counter,
    bulk: Counter,
}

impl Rejected {
    fn define() -> Self {
        Self {
            reviews: Counter::new("burst_review_rejected_total"),
            bulk: Counter::new("burst_reply_bulk_rejected_total"),
        }
    }

    fn flush(&self) {
        self.reviews.flush();
        self.bulk.flush();
    }
}

/// All stats of a VM.
#[derive(Debug)]
pub(crate) struct Stats {
    polls: [Counter; PollOutcome::ALL.len()],
    pub(crate) leader_changes: Counter,
    pub(crate) header_added: Counter,
    pub(crate) header_gated: Counter,
    pub(crate) header_upstream_kept: Counter,
    no_cluster: Counter,
    unmapped: [Counter; Unmapped::ALL.len()],
    no_entry: Counter,
    unsynced: Counter,
    stale: Counter,
    replies: [(u16, Counter); 13],
    pub(crate) reports_ok: Counter,
    pub(crate) reports_failed: Counter,
    pub(crate) hub_reports_taken: Counter,
    pub(crate) hub_reports_refused: Counter,
    pub(crate) hub_reports_late: Counter,
    pub(crate) hub_reports_evicted: Counter,
    pub(crate) reviews_allowed: Counter,
    pub(crate) reviews_denied: Counter,
    pub(crate) reviews_failed: Counter,
    /// Not in the header-only module, which answers no requests.
    rejected: Option<Rejected>,
    pub(crate) offers_ok: Counter,
    pub(crate) offers_failed: Counter,
    pub(crate) passed_on: Counter,
    pub(crate) quarantined_records: Counter,
    pub(crate) insecure_refused: Counter,
    hub_proxies: HostMetric,
    hub_report_bytes: HostMetric,
    uncounted_services: HostMetric,
    counted_timestamp: HostMetric,
    custom_metrics_age: HostMetric,
    external_metrics_age: HostMetric,
    objects: HostMetric,
    bad_objects: HostMetric,
    over_limits: HostMetric,
    services: HostMetric,
    refused_policy_namespaces: HostMetric,
    unobserved_hpas: HostMetric,
    overshadowed_hpas: HostMetric,
    timestamp: HostMetric,
    generation: HostMetric,
    /// By the names of the gauges.
    unreadable: RefCell<Vec<(String, HostMetric)>>,
}

impl Stats {
    /// Defines all stats. Each definition makes a new one in the host, so this is done once per VM, and not in the
    /// canary, whose increments would stay.
    pub(crate) fn define() -> Self {
        let version = Version::own().map_or(0, Version::number);
        // Once: of an old and a new binary side by side, the newer one came last.
        HostMetric::gauge("burst_filter_version").set(version);
        let absent = |reason: &str| Counter::new(&format!("burst_header_absent_{reason}_total"));
        Self {
            polls: PollOutcome::ALL.map(|outcome| Counter::new(&format!("burst_poll_{}_total", outcome.as_str()))),
            leader_changes: Counter::new("burst_leader_changes_total"),
            header_added: Counter::new("burst_header_added_total"),
            header_gated: Counter::new("burst_header_gated_total"),
            header_upstream_kept: Counter::new("burst_header_upstream_kept_total"),
            no_cluster: absent("no_cluster"),
            unmapped: Unmapped::ALL.map(|reason| absent(reason.as_str())),
            no_entry: absent("no_entry"),
            unsynced: absent("unsynced"),
            stale: absent("stale"),
            replies: [200, 204, 304, 400, 401, 403, 404, 405, 406, 414, 429, 500, 503]
                .map(|status| (status, Counter::new(&format!("burst_reply_{status}_total")))),
            reports_ok: Counter::new("burst_report_ok_total"),
            reports_failed: Counter::new("burst_report_failed_total"),
            hub_reports_taken: Counter::new("burst_hub_report_taken_total"),
            hub_reports_refused: Counter::new("burst_hub_report_refused_total"),
            hub_reports_late: Counter::new("burst_hub_report_late_total"),
            hub_reports_evicted: Counter::new("burst_hub_report_evicted_total"),
            reviews_allowed: Counter::new("burst_review_allowed_total"),
            reviews_denied: Counter::new("burst_review_denied_total"),
            reviews_failed: Counter::new("burst_review_failed_total"),
            rejected: (!cfg!(feature = "header-only")).then(Rejected::define),
            offers_ok: Counter::new("burst_fallback_list_ok_total"),
            offers_failed: Counter::new("burst_fallback_list_failed_total"),
            passed_on: Counter::new("burst_fallback_request_total"),
            quarantined_records: Counter::new("burst_quarantined_records_total"),
            insecure_refused: Counter::new("burst_metrics_apis_insecure_total"),
            hub_proxies: HostMetric::gauge("burst_hub_proxies"),
            hub_report_bytes: HostMetric::gauge("burst_hub_report_bytes"),
            uncounted_services: HostMetric::gauge("burst_requests_left_out_services"),
            counted_timestamp: HostMetric::gauge("burst_requests_timestamp_seconds"),
            custom_metrics_age: HostMetric::histogram("burst_custom_metrics_age_milliseconds"),
            external_metrics_age: HostMetric::histogram("burst_external_metrics_age_milliseconds"),
            objects: HostMetric::gauge("burst_objects"),
            bad_objects: HostMetric::gauge("burst_bad_objects"),
            over_limits: HostMetric::gauge("burst_objects_over_limits"),
            services: HostMetric::gauge("burst_services"),
            refused_policy_namespaces: HostMetric::gauge("burst_refused_policy_namespaces"),
            unobserved_hpas: HostMetric::gauge("burst_unobserved_hpas"),
            overshadowed_hpas: HostMetric::gauge("burst_overshadowed_hpas"),
            timestamp: HostMetric::gauge("burst_snapshot_timestamp_seconds"),
            generation: HostMetric::gauge("burst_snapshot_generation"),
            unreadable: RefCell::default(),
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

    /// A request that could have waited for a review.
    pub(crate) fn count_rejected_review(&self) {
        self.rejected.iter().for_each(|rejected| rejected.reviews.count());
    }

    /// A bulk reply that could have been sent.
    pub(crate) fn count_rejected_bulk(&self) {
        self.rejected.iter().for_each(|rejected| rejected.bulk.count());
    }

    /// How old the values in an answer of the metrics APIs are.
    pub(crate) fn record_age(&self, api: Api, age: Duration) {
        let histogram = match api {
            Api::CustomV1Beta1 | Api::CustomV1Beta2 => self.custom_metrics_age,
            Api::External => self.external_metrics_age,
        };
        histogram.set(u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
    }

    /// What the leader sees.
    pub(crate) fn show_totals(&self, totals: &Totals) {
        self.objects.set(totals.objects);
        self.bad_objects.set(totals.bad_objects);
        self.over_limits.set(totals.over_limits);
        self.services.set(totals.services);
        self.refused_policy_namespaces.set(totals.refused_policies);
        self.unobserved_hpas.set(totals.findings.unobserved);
        self.overshadowed_hpas.set(totals.findings.shadowed);
    }

    /// Whether the leader can read a list. Its gauge is made when there is something to show, so that a thread that
    /// never polls makes none.
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

    /// The proxies whose requests the hub knows.
    pub(crate) fn show_proxies(&self, proxies: usize) {
        self.hub_proxies.set(proxies as u64);
    }

    /// The bytes of the reports that the hub keeps.
    pub(crate) fn show_report_bytes(&self, bytes: usize) {
        self.hub_report_bytes.set(bytes as u64);
    }

    /// How many counts of Services have no room in the sum.
    pub(crate) fn show_uncounted(&self, services: usize) {
        self.uncounted_services.set(services as u64);
    }

    /// When the requests were counted that are served.
    pub(crate) fn show_counted(&self, taken: Time) {
        self.counted_timestamp.set(taken.unix_seconds());
    }

    /// What every VM sees.
    pub(crate) fn show_age(&self, picture: &ServingCache) {
        if let (Some(as_of), Some(generation)) = (picture.as_of(), picture.generation()) {
            self.timestamp.set(as_of.unix_seconds());
            self.generation.set(generation);
        }
    }

    /// Tells the host what was counted.
    pub(crate) fn flush(&self) {
        let named = [
            &self.leader_changes,
            &self.header_added,
            &self.header_gated,
            &self.header_upstream_kept,
            &self.reports_ok,
            &self.reports_failed,
            &self.hub_reports_taken,
            &self.hub_reports_refused,
            &self.hub_reports_late,
            &self.hub_reports_evicted,
            &self.reviews_allowed,
            &self.reviews_denied,
            &self.reviews_failed,
            &self.offers_ok,
            &self.offers_failed,
            &self.passed_on,
            &self.quarantined_records,
            &self.insecure_refused,
        ];
        let absent = [&self.no_cluster, &self.no_entry, &self.unsynced, &self.stale];
        let replies = self.replies.iter().map(|(_, counter)| counter);
        if !cfg!(feature = "header-only") {
            self.rejected.iter().for_each(Rejected::flush);
        }
        self.polls
            .iter()
            .chain(named)
            .chain(absent)
            .chain(&self.unmapped)
            .chain(replies)
            .for_each(Counter::flush);
    }
}
