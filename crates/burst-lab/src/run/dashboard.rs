//! The state of each service, from the responses that came through Envoy.

#[cfg(feature = "context")]
use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::time::Duration;

use burst_lab::sample::Service;

/// Seconds of history per service: more than any terminal is wide.
const HISTORY: usize = 240;

/// The result of one request through Envoy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProbeResult {
    /// Status 200, with the value of `x-burst` if the response had the header.
    Ok(Option<String>),
    /// Another status than 200.
    Status(u16),
    /// No response.
    NoResponse,
}

/// One service.
pub(crate) struct Row {
    /// Its name on the dashboard.
    pub(crate) name: String,
    /// The result of the newest request; `None` before the first.
    pub(crate) last: Option<ProbeResult>,
    /// Answered requests; `None` if the service itself is not requested.
    pub(crate) requests: Option<u64>,
    /// Current and maximum replicas, a value per second; `None` while no header was received.
    pub(crate) load: VecDeque<Option<(u32, u32)>>,
}

/// All services, and the values of the footer.
pub(crate) struct Dashboard {
    pub(crate) rows: Vec<Row>,
    /// Time since the start.
    pub(crate) elapsed: Duration,
    /// Requests that the Kubernetes API has received.
    pub(crate) api_requests: u64,
    /// Envoy's newest log line of level warning or above.
    pub(crate) warning: Option<String>,
    /// Why the snapshot of the cluster cannot be shown.
    pub(crate) error: Option<String>,
}

impl Dashboard {
    /// A dashboard of the services that receive traffic.
    pub(crate) fn new(services: &[Service]) -> Self {
        // The name of Envoy's cluster as well.
        let name = |service: &Service| format!("{}.{}", service.name, service.namespace);
        Dashboard {
            rows: services
                .iter()
                .map(|service| Row::new(name(service), Some(0)))
                .collect(),
            elapsed: Duration::ZERO,
            api_requests: 0,
            warning: None,
            error: None,
        }
    }

    /// Replaces the services by those of a snapshot (`namespace/name` to header) and sorts them by utilization, highest
    /// first. Returns the names of those whose header changed.
    #[cfg(feature = "context")]
    pub(crate) fn apply_snapshot(&mut self, snapshot: BTreeMap<String, String>) -> Vec<String> {
        self.error = None;
        self.rows.retain(|row| snapshot.contains_key(&row.name));
        let mut changed = Vec::new();
        for (name, header) in snapshot {
            let index = self.rows.iter().position(|row| row.name == name);
            let index = index.unwrap_or(self.rows.len());
            if index == self.rows.len() {
                self.rows.push(Row::new(name.clone(), None));
            }
            if self.record(index, ProbeResult::Ok(Some(header))) {
                changed.push(name);
            }
        }
        let utilization = |row: &Row| {
            row.load()
                .map(|(current, max)| u64::from(current) * 10_000 / u64::from(max.max(1)))
        };
        self.rows.sort_by(|one, other| {
            utilization(other)
                .cmp(&utilization(one))
                .then_with(|| one.name.cmp(&other.name))
        });
        changed
    }

    /// Records that the snapshot could not be read. Returns true if the reason changed.
    #[cfg(feature = "context")]
    pub(crate) fn record_error(&mut self, last: &ProbeResult, reason: &str) -> bool {
        self.rows.iter_mut().for_each(|row| row.last = Some(last.clone()));
        let reason = reason.trim();
        let changed = self.error.as_deref() != Some(reason);
        self.error = Some(reason.to_owned());
        changed
    }

    /// Records a result. Returns true if it differs from the one before.
    pub(crate) fn record(&mut self, row: usize, last: ProbeResult) -> bool {
        let Some(row) = self.rows.get_mut(row) else {
            return false;
        };
        // Until the first response, Envoy may not listen yet; that is not a failure.
        if last == ProbeResult::NoResponse && row.last.is_none() {
            return false;
        }
        if let Some(requests) = &mut row.requests {
            *requests += u64::from(last != ProbeResult::NoResponse);
        }
        let changed = row.last.as_ref() != Some(&last);
        row.last = Some(last);
        changed
    }

    /// Adds the current replicas of each service to its history; called once a second.
    pub(crate) fn sample_load(&mut self) {
        for row in &mut self.rows {
            let load = row.load();
            row.load.push_back(load);
            if row.load.len() > HISTORY {
                row.load.pop_front();
            }
        }
    }

    /// Returns the number of answered requests.
    pub(crate) fn requests(&self) -> u64 {
        self.rows.iter().filter_map(|row| row.requests).sum()
    }
}

impl Row {
    fn new(name: String, requests: Option<u64>) -> Self {
        Row {
            name,
            last: None,
            requests,
            load: VecDeque::new(),
        }
    }

    /// Returns current and maximum replicas from the header of the newest response.
    pub(crate) fn load(&self) -> Option<(u32, u32)> {
        match &self.last {
            Some(ProbeResult::Ok(Some(header))) => Some((number(header, "current-load")?, number(header, "max-load")?)),
            _ => None,
        }
    }

    /// Returns the text that is shown for the newest result.
    pub(crate) fn summary(&self) -> String {
        match &self.last {
            None => "no answer yet".to_owned(),
            Some(ProbeResult::Ok(Some(header))) => format!("x-burst: {header}"),
            Some(ProbeResult::Ok(None)) => "200 without x-burst".to_owned(),
            Some(ProbeResult::Status(status)) => format!("status {status}"),
            Some(ProbeResult::NoResponse) => "no answer".to_owned(),
        }
    }
}

fn number(header: &str, key: &str) -> Option<u32> {
    let mut pairs = header.split(',').filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(k, _)| *k == key).and_then(|(_, value)| value.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "service=default/ngsa-1, current-load=2, target-load=4, max-load=5";

    fn dashboard() -> Dashboard {
        Dashboard::new(&burst_lab::sample::services(&burst_lab::sample::cluster().unwrap()))
    }

    #[test]
    fn only_a_different_answer_is_a_change() {
        let mut dashboard = dashboard();
        let normal = ProbeResult::Ok(Some(HEADER.to_owned()));
        let changes =
            [normal.clone(), normal.clone(), ProbeResult::Status(503), normal].map(|last| dashboard.record(0, last));
        assert_eq!(changes, [true, false, true, true]);
        assert_eq!((dashboard.rows[0].requests, dashboard.requests()), (Some(4), 4));
    }

    #[test]
    fn load_is_read_from_the_header_alone() {
        let mut dashboard = dashboard();
        dashboard.sample_load();
        dashboard.record(0, ProbeResult::Ok(Some(HEADER.to_owned())));
        dashboard.sample_load();
        dashboard.record(0, ProbeResult::Ok(None));
        dashboard.sample_load();
        assert_eq!(dashboard.rows[0].load, [None, Some((2, 5)), None]);
    }

    #[test]
    fn a_missing_answer_is_not_counted_and_not_shown_before_the_first_answer() {
        let mut dashboard = dashboard();
        dashboard.record(1, ProbeResult::Ok(None));
        assert!(
            !dashboard.record(0, ProbeResult::NoResponse),
            "it set out before Envoy listened"
        );
        assert_eq!(
            (dashboard.requests(), dashboard.rows[0].summary().as_str()),
            (1, "no answer yet")
        );
        dashboard.record(0, ProbeResult::Ok(None));
        assert!(dashboard.record(0, ProbeResult::NoResponse));
        assert_eq!(
            (dashboard.requests(), dashboard.rows[0].summary().as_str()),
            (2, "no answer")
        );
    }

    #[cfg(feature = "context")]
    #[test]
    fn a_snapshot_is_sorted_by_load_and_returns_the_changed_services() {
        let header = |current| format!("service=a/b, current-load={current}, target-load=4, max-load=5");
        let snapshot = |services: &[(&str, u32)]| {
            let services = services
                .iter()
                .map(|(name, current)| ((*name).to_owned(), header(*current)));
            services.collect::<BTreeMap<_, _>>()
        };
        let mut dashboard = Dashboard::new(&[]);
        assert_eq!(
            dashboard.apply_snapshot(snapshot(&[("a/x", 1), ("a/y", 3), ("b/z", 3)])),
            ["a/x", "a/y", "b/z"]
        );
        dashboard.sample_load();
        let names = |dashboard: &Dashboard| dashboard.rows.iter().map(|row| row.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&dashboard), ["a/y", "b/z", "a/x"]);
        assert_eq!(dashboard.apply_snapshot(snapshot(&[("a/x", 5), ("b/z", 3)])), ["a/x"]);
        assert_eq!(
            (names(&dashboard), dashboard.rows[0].load.clone()),
            (vec!["a/x".into(), "b/z".into()], [Some((1, 5))].into())
        );
        assert!(
            dashboard.record_error(&ProbeResult::Status(503), "too stale\n")
                && !dashboard.record_error(&ProbeResult::Status(503), "too stale")
        );
        assert_eq!((dashboard.rows[0].load(), dashboard.requests()), (None, 0));
    }
}
