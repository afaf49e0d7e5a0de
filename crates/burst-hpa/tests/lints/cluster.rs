//! A target whose pods share a load, under the simulated controller, to show the effect that a lint describes.

use std::time::Duration;

use burst_hpa::simulate::{
    Container, ControllerOptions, Observation, Phase, Plan, Pod, Reading, Ready, Requests, Sample, Scale,
    ScaleSelector, State, Time, sync,
};
use burst_hpa::status::ConditionType;
use serde_json::Value;

use crate::fixtures::hpa;

/// The request of each pod: one CPU, in thousandths.
const REQUEST: i64 = 1_000;

pub(crate) struct SimulatedCluster {
    plan: Plan,
    state: State,
    now: Time,
    pub replicas: i32,
    /// The extra pods of a rollout, which exist only during the rollout.
    pub surge: i32,
    /// Whether containers request CPU.
    pub requests: bool,
}

impl SimulatedCluster {
    pub(crate) fn new(object: &Value, replicas: i32) -> Self {
        Self {
            plan: Plan::read("default", &hpa(object).spec).unwrap(),
            state: State::default(),
            now: Time::from_secs(100_000),
            replicas,
            surge: 0,
            requests: true,
        }
    }

    /// Runs a sync while every pod uses this percentage of a CPU. Returns the replicas after it.
    pub(crate) fn cpu(&mut self, percent: i64) -> i32 {
        let sample = Sample {
            value: percent * REQUEST / 100,
            at: self.now,
            window: Duration::from_secs(30),
        };
        let samples = self.pods().into_iter().map(|pod| (pod.name, sample)).collect();
        self.sync(&[Reading::Pods(samples)])
    }

    /// Runs a sync with these readings. A metric without a reading of its own gets the last one.
    pub(crate) fn sync(&mut self, readings: &[Reading]) -> i32 {
        let each = readings.iter().chain(readings.last().into_iter().cycle()).take(8);
        let seen = Observation {
            scale: Ok(Scale {
                spec_replicas: self.replicas,
                status_replicas: self.replicas,
                selector: ScaleSelector::Valid,
            }),
            pods: self.pods(),
            readings: each.cloned().map(Ok).collect(),
            write: Ok(()),
        };
        let options = ControllerOptions {
            scale_to_zero: true,
            ..ControllerOptions::default()
        };
        let (state, report) = sync(&self.plan, &seen, &options, self.state.clone(), self.now);
        self.state = state;
        self.replicas = report.replicas.unwrap();
        self.now = self.now + Duration::from_secs(15);
        self.replicas
    }

    /// Syncs until there are at most this many replicas. Returns how many seconds that takes.
    pub(crate) fn seconds_until(&mut self, replicas: i32, percent: i64) -> u64 {
        let syncs = (0..10_000).find(|_| self.cpu(percent) <= replicas);
        syncs.expect("it gets there") * 15
    }

    /// Why the metrics failed, if they did.
    pub(crate) fn failure(&self) -> Option<String> {
        let active = self.state.status.conditions.find(&ConditionType::ScalingActive)?;
        (!active.status).then(|| active.reason.to_string())
    }

    fn pods(&self) -> Vec<Pod> {
        let long_ago = self.now - Duration::from_secs(86_400);
        let requests = self.requests.then(|| ("cpu".to_owned(), REQUEST)).into_iter().collect();
        let app = Container {
            name: "app".to_owned(),
            requests,
        };
        let pod = |number| Pod {
            name: format!("web-{number}"),
            phase: Phase::Running,
            ready: Some(Ready {
                status: Some(true),
                since: long_ago,
            }),
            started: Some(long_ago),
            deleted: false,
            requests: Requests {
                containers: vec![app.clone()],
                ..Requests::default()
            },
        };
        (0..self.replicas + self.surge).map(pod).collect()
    }
}
