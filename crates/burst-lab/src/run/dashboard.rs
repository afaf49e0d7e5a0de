//! The state of each service and of the two clients, from the responses that came through Envoy.

#[cfg(feature = "context")]
use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::time::Duration;

use burst_lab::sample::Service;

use super::HISTORY;
use super::clients::Clients;
use super::header::Load;
use super::traffic::Outcome;
use super::warnings::Warnings;

/// What is known of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServiceState {
    /// There was no response yet. Envoy may not listen yet; that is not a failure.
    Unknown,
    /// The newest response had this `x-burst`, whatever its status.
    Header(String),
    /// The newest response had no `x-burst`, and this status.
    NoHeader(u16),
    /// The newest request got no response.
    NoResponse,
}

/// One service.
pub(crate) struct Row {
    /// Its name on the dashboard.
    pub(crate) name: String,
    pub(crate) state: ServiceState,
    /// A value per second; `None` while no header was received.
    pub(crate) history: VecDeque<Option<Load>>,
}

/// What the cluster behind Envoy is.
pub(crate) enum Audience {
    /// The simulated one, with the two clients.
    Clients(Box<Clients>),
    /// A real one, which this run only reads.
    #[cfg_attr(not(feature = "context"), expect(dead_code, reason = "only with --context"))]
    ReadOnly,
}

/// All services, the clients, and the values of the footer.
pub(crate) struct Dashboard {
    pub(crate) rows: Vec<Row>,
    pub(crate) audience: Audience,
    /// Time since the start.
    pub(crate) elapsed: Duration,
    /// Requests that the Kubernetes API has received.
    pub(crate) api_requests: u64,
    pub(crate) warnings: Warnings,
    /// Why the snapshot of the cluster cannot be shown.
    pub(crate) error: Option<String>,
}

impl Dashboard {
    /// A dashboard of the services that receive traffic.
    pub(crate) fn of_services(services: &[Service]) -> Self {
        // The name of Envoy's cluster as well.
        let name = |service: &Service| format!("{}.{}", service.name, service.namespace);
        let names = services.iter().map(name);
        Dashboard::new(names.map(Row::new).collect(), Audience::Clients(Box::default()))
    }

    /// A dashboard of a cluster that is only read.
    #[cfg(feature = "context")]
    pub(crate) fn of_cluster() -> Self {
        Dashboard::new(Vec::new(), Audience::ReadOnly)
    }

    fn new(rows: Vec<Row>, audience: Audience) -> Self {
        Dashboard {
            rows,
            audience,
            elapsed: Duration::ZERO,
            api_requests: 0,
            warnings: Warnings::default(),
            error: None,
        }
    }

    /// Returns whether Envoy has answered yet.
    pub(crate) fn has_started(&self) -> bool {
        self.error.is_some() || self.rows.iter().any(|row| row.state != ServiceState::Unknown)
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
                self.rows.push(Row::new(name.clone()));
            }
            if self.set_state(index, ServiceState::Header(header)) {
                changed.push(name);
            }
        }
        let utilization = |row: &Row| {
            row.load()
                .map(|load| u64::from(load.current) * 10_000 / u64::from(load.max.max(1)))
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
    pub(crate) fn record_error(&mut self, status: u16, reason: &str) -> bool {
        self.rows
            .iter_mut()
            .for_each(|row| row.state = ServiceState::NoHeader(status));
        let reason = reason.trim();
        let changed = self.error.as_deref() != Some(reason);
        self.error = Some(reason.to_owned());
        changed
    }

    /// Records the outcome of a request to a service. Returns true if the state of the service changed.
    pub(crate) fn record(&mut self, service: usize, outcome: &Outcome) -> bool {
        let state = match outcome {
            Outcome::Answered {
                header: Some(header), ..
            } => ServiceState::Header(header.clone()),
            Outcome::Answered { status, header: None } => ServiceState::NoHeader(*status),
            Outcome::NoResponse => ServiceState::NoResponse,
        };
        self.set_state(service, state)
    }

    fn set_state(&mut self, row: usize, state: ServiceState) -> bool {
        let Some(row) = self.rows.get_mut(row) else {
            return false;
        };
        if state == ServiceState::NoResponse && row.state == ServiceState::Unknown {
            return false;
        }
        let changed = row.state != state;
        row.state = state;
        changed
    }

    /// Adds the current values to the history, from the first answer on; called once a second.
    pub(crate) fn end_second(&mut self) {
        if !self.has_started() {
            return;
        }
        for row in &mut self.rows {
            let load = row.load();
            row.history.push_back(load);
            if row.history.len() > HISTORY {
                row.history.pop_front();
            }
        }
        if let Audience::Clients(clients) = &mut self.audience {
            clients.end_second();
        }
        self.warnings.expire(self.elapsed);
    }
}

impl Row {
    fn new(name: String) -> Self {
        Row {
            name,
            state: ServiceState::Unknown,
            history: VecDeque::new(),
        }
    }

    /// Returns the replicas from the header of the newest response.
    pub(crate) fn load(&self) -> Option<Load> {
        match &self.state {
            ServiceState::Header(header) => Load::parse(header),
            _ => None,
        }
    }

    /// Returns the text that is shown for its state.
    pub(crate) fn summary(&self) -> String {
        match &self.state {
            ServiceState::Unknown => "no answer yet".to_owned(),
            ServiceState::Header(header) => format!("x-burst: {header}"),
            ServiceState::NoHeader(200) => "200 without x-burst".to_owned(),
            ServiceState::NoHeader(status) => format!("status {status}"),
            ServiceState::NoResponse => "no answer".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "service=default/ngsa-1, current-load=2, target-load=4, max-load=5";
    const LOAD: Load = Load {
        current: 2,
        target: 4,
        max: 5,
    };

    fn dashboard() -> Dashboard {
        Dashboard::of_services(&burst_lab::sample::services(&burst_lab::sample::cluster().unwrap()))
    }

    fn answered(status: u16, header: Option<&str>) -> Outcome {
        Outcome::Answered {
            status,
            header: header.map(str::to_owned),
        }
    }

    #[test]
    fn only_a_different_header_is_a_change() {
        let mut dashboard = dashboard();
        let outcomes = [
            answered(200, Some(HEADER)),
            answered(200, Some(HEADER)),
            answered(503, Some(HEADER)),
            answered(503, None),
            answered(200, Some(HEADER)),
        ];
        let changes = outcomes.map(|outcome| dashboard.record(0, &outcome));
        assert_eq!(changes, [true, false, false, true, true]);
    }

    #[test]
    fn load_is_read_from_the_header_alone() {
        let mut dashboard = dashboard();
        dashboard.end_second();
        dashboard.record(0, &answered(503, Some(HEADER)));
        dashboard.end_second();
        dashboard.record(0, &answered(200, None));
        dashboard.end_second();
        assert_eq!(dashboard.rows[0].history, [Some(LOAD), None]);
        assert_eq!(dashboard.rows[1].history, [None, None], "it has not answered yet");
    }

    #[test]
    fn a_missing_answer_is_not_shown_before_the_first_answer() {
        let mut dashboard = dashboard();
        assert!(
            !dashboard.record(0, &Outcome::NoResponse),
            "it was sent before Envoy listened"
        );
        assert_eq!(
            (dashboard.rows[0].summary().as_str(), dashboard.has_started()),
            ("no answer yet", false)
        );
        dashboard.record(0, &answered(200, None));
        assert!(dashboard.record(0, &Outcome::NoResponse) && dashboard.has_started());
        assert_eq!(dashboard.rows[0].summary(), "no answer");
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
        let mut dashboard = Dashboard::of_cluster();
        assert_eq!(
            dashboard.apply_snapshot(snapshot(&[("a/x", 1), ("a/y", 3), ("b/z", 3)])),
            ["a/x", "a/y", "b/z"]
        );
        dashboard.end_second();
        let names = |dashboard: &Dashboard| dashboard.rows.iter().map(|row| row.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&dashboard), ["a/y", "b/z", "a/x"]);
        assert_eq!(dashboard.apply_snapshot(snapshot(&[("a/x", 5), ("b/z", 3)])), ["a/x"]);
        let before = Load { current: 1, ..LOAD };
        assert_eq!(
            (names(&dashboard), dashboard.rows[0].history.clone()),
            (vec!["a/x".into(), "b/z".into()], [Some(before)].into())
        );
        assert!(dashboard.record_error(503, "too stale\n") && !dashboard.record_error(503, "too stale"));
        assert_eq!(dashboard.rows[0].load(), None);
    }
}
