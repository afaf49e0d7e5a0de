//! Simulated pods that follow the replicas, some of them with faults.

use fastrand::Rng;

use crate::random::{chance, pick, seconds};
use crate::trace::{PERIOD, Pod};

/// More pods than this add nothing to a trace.
const MAX_PODS: usize = 24;

/// The pods of the target, with their rates of faults.
pub(crate) struct PodSet {
    pods: Vec<SimulatedPod>,
    created_count: usize,
    templates: usize,
    /// How long a pod takes to start and then to become ready, at most, in milliseconds.
    max_startup_millis: i64,
    /// The probability of a fault of a pod in a tick.
    disturbance_rate: f64,
}

struct SimulatedPod {
    pod: Pod,
    runs_at: i64,
    ready_at: i64,
}

impl PodSet {
    pub(crate) fn new(rng: &mut Rng, templates: usize) -> Self {
        Self {
            pods: Vec::new(),
            created_count: 0,
            templates,
            max_startup_millis: pick(rng, &[0, 0, 5_000, 20_000, 60_000, 400_000]),
            disturbance_rate: pick(rng, &[0.0, 0.0, 0.01, 0.05]),
        }
    }

    /// Advances the pods to `now`, with `replicas` desired.
    pub(crate) fn advance(&mut self, rng: &mut Rng, replicas: i32, now: i64) {
        self.pods
            .retain(|member| !member.pod.deleted && member.pod.phase != "Failed");
        let wanted = usize::try_from(replicas).unwrap_or(0).min(MAX_PODS);
        while self.pods.len() < wanted {
            let member = self.new_pod(rng, now);
            self.pods.push(member);
        }
        for member in self.pods.iter_mut().skip(wanted) {
            member.pod.deleted = true;
        }
        for member in &mut self.pods {
            member.advance(rng, now, self.disturbance_rate);
        }
    }

    pub(crate) fn pods(&self) -> Vec<Pod> {
        self.pods.iter().map(|member| member.pod.clone()).collect()
    }

    /// The number of ready pods.
    pub(crate) fn serving(&self) -> usize {
        self.pods
            .iter()
            .filter(|member| member.pod.phase == "Running" && member.pod.ready == "True")
            .count()
    }

    fn new_pod(&mut self, rng: &mut Rng, now: i64) -> SimulatedPod {
        self.created_count += 1;
        // The invalid template comes last and is rare.
        let template = if chance(rng, 0.98) {
            rng.usize(..self.templates.clamp(1, 2))
        } else {
            self.templates - 1
        };
        let created = now - PERIOD + seconds(rng, PERIOD);
        let runs_at = created + seconds(rng, self.max_startup_millis / 2);
        let ready_at = runs_at + seconds(rng, self.max_startup_millis);
        let pod = Pod {
            name: format!("web-{}", self.created_count),
            phase: "Pending".to_owned(),
            template,
            ..Pod::default()
        };
        SimulatedPod { pod, runs_at, ready_at }
    }
}

impl SimulatedPod {
    fn advance(&mut self, rng: &mut Rng, now: i64, disturbance_rate: f64) {
        let pod = &mut self.pod;
        if pod.phase == "Pending" && self.runs_at <= now {
            pod.phase = "Running".to_owned();
            pod.started = Some(self.runs_at);
            (pod.ready, pod.since) = ("False".to_owned(), self.runs_at);
        }
        if pod.phase == "Running" && pod.ready == "False" && self.ready_at <= now {
            (pod.ready, pod.since) = ("True".to_owned(), self.ready_at);
        }
        if chance(rng, disturbance_rate) {
            self.disturb(rng, now);
        }
    }

    fn disturb(&mut self, rng: &mut Rng, now: i64) {
        let pod = &mut self.pod;
        let moment = now - seconds(rng, PERIOD);
        match rng.u8(..8) {
            0 => pod.phase = "Failed".to_owned(),
            1 => pod.phase = "Succeeded".to_owned(),
            2 => pod.phase = "Unknown".to_owned(),
            3 => (pod.ready, pod.since) = (String::new(), 0),
            4 => pod.started = None,
            5 => (pod.ready, pod.since) = ("Unknown".to_owned(), moment),
            _ => {
                (pod.ready, pod.since) = ("False".to_owned(), moment);
                self.ready_at = moment + seconds(rng, 120_000);
            }
        }
    }
}
