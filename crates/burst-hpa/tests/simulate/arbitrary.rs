//! Syncs with arbitrary numbers, which must not panic.

use std::time::Duration;

use burst_hpa::simulate::{
    Container, ControllerOptions, Observation, Phase, Plan, Pod, Reading, Ready, Requests, Sample, Scale,
    ScaleSelector, State, Time, sync,
};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscalerSpec;
use proptest::prelude::*;
use serde_json::json;

/// An endless supply of the numbers that proptest chose.
struct Numbers(std::iter::Cycle<std::vec::IntoIter<i64>>);

impl Numbers {
    fn long(&mut self) -> i64 {
        self.0.next().unwrap()
    }

    #[expect(clippy::cast_possible_truncation, reason = "any number is fine")]
    fn int(&mut self) -> i32 {
        self.long() as i32
    }

    fn one_of<T: Copy, const N: usize>(&mut self, choices: [T; N]) -> T {
        choices[usize::try_from(self.long().rem_euclid(N as i64)).unwrap()]
    }

    fn time(&mut self) -> Time {
        Time::from_millis(self.long())
    }

    fn duration(&mut self) -> Duration {
        Duration::from_millis(self.long().unsigned_abs())
    }

    fn plan(&mut self) -> Plan {
        let mut rules = || {
            json!({
                "stabilizationWindowSeconds": self.int().saturating_abs(),
                "selectPolicy": self.one_of(["Max", "Min", "Disabled"]),
                "policies": [
                    {"type": "Pods", "value": self.int(), "periodSeconds": self.int().saturating_abs()},
                    {"type": "Percent", "value": self.int(), "periodSeconds": self.int().saturating_abs()},
                ],
            })
        };
        let behavior = json!({"scaleUp": rules(), "scaleDown": rules()});
        let utilization = json!({"type": "Utilization", "averageUtilization": self.int()});
        let average = json!({"type": "AverageValue", "averageValue": self.long().to_string()});
        let value = json!({"type": "Value", "value": self.long().to_string()});
        let metric = json!({"name": "m"});
        let spec = json!({
            "scaleTargetRef": {"kind": "Deployment", "name": "web"},
            "minReplicas": self.int(),
            "maxReplicas": self.int(),
            "behavior": if self.long() % 2 == 0 { behavior } else { json!(null) },
            "metrics": [
                {"type": "Resource", "resource": {"name": "cpu", "target": utilization}},
                {"type": "Pods", "pods": {"metric": metric, "target": average}},
                {"type": "Object", "object": {"describedObject": {"kind": "K", "name": "k"}, "metric": metric, "target": value}},
                {"type": "Object", "object": {"describedObject": {"kind": "K", "name": "k"}, "metric": metric, "target": average}},
                {"type": "External", "external": {"metric": metric, "target": value}},
                {"type": "External", "external": {"metric": metric, "target": average}},
            ],
        });
        Plan::read(
            "shop",
            &serde_json::from_value::<HorizontalPodAutoscalerSpec>(spec).unwrap(),
        )
        .unwrap()
    }

    fn options(&mut self) -> ControllerOptions {
        ControllerOptions {
            sync_period: self.duration(),
            downscale_stabilization: self.duration(),
            tolerance: f64::from_bits(self.long().cast_unsigned()),
            cpu_initialization_period: self.duration(),
            initial_readiness_delay: self.duration(),
            scale_to_zero: self.long() % 2 == 0,
            configurable_tolerance: true,
        }
    }

    fn observation(&mut self) -> Observation {
        let names = ["a", "b", "c"];
        let pods = names.map(|name| self.pod(name)).to_vec();
        let mut samples = || Reading::Pods(names.map(|name| (name.to_owned(), self.sample())).into());
        let per_pod = [samples(), samples()];
        let objects = [self.long(), self.long()].map(Reading::Object);
        let external = [vec![self.long(), self.long(), self.long()], vec![self.long()]].map(Reading::External);
        let scale = Scale {
            spec_replicas: self.int(),
            status_replicas: self.int(),
            selector: ScaleSelector::Valid,
        };
        Observation {
            scale: Ok(scale),
            pods: if self.long() % 5 == 0 { Vec::new() } else { pods },
            readings: per_pod.into_iter().chain(objects).chain(external).map(Ok).collect(),
            write: Ok(()),
        }
    }

    fn sample(&mut self) -> Sample {
        Sample {
            value: self.long(),
            at: self.time(),
            window: self.duration(),
        }
    }

    fn pod(&mut self, name: &str) -> Pod {
        let requests = [("cpu".to_owned(), self.long())].into();
        Pod {
            name: name.to_owned(),
            phase: if self.long() % 7 == 0 {
                Phase::Pending
            } else {
                Phase::Running
            },
            ready: Some(Ready {
                status: Some(self.long() % 3 != 0),
                since: self.time(),
            }),
            started: Some(self.time()),
            deleted: false,
            requests: Requests {
                containers: vec![Container {
                    name: "app".to_owned(),
                    requests,
                }],
                ..Requests::default()
            },
        }
    }
}

fn number() -> impl Strategy<Value = i64> {
    prop_oneof![
        any::<i64>(),
        -3i64..10,
        any::<i32>().prop_map(i64::from),
        Just(i64::MAX),
        Just(i64::MIN),
        Just(i64::from(i32::MAX)),
        Just(i64::from(i32::MIN)),
    ]
}

proptest! {
    #[test]
    fn a_sync_ends_with_any_numbers(numbers in prop::collection::vec(number(), 40..200)) {
        let mut numbers = Numbers(numbers.into_iter().cycle());
        let (plan, options) = (numbers.plan(), numbers.options());
        let mut state = State::default();
        for _ in 0..4 {
            let seen = numbers.observation();
            (state, _) = sync(&plan, &seen, &options, state, numbers.time());
        }
        prop_assert!(state.status.conditions.iter().count() > 0);
    }

    /// The caller supplies the readings and the spec, so they may not match.
    #[test]
    fn readings_of_another_source_are_failures(numbers in prop::collection::vec(number(), 40), shift in 1usize..6) {
        let mut numbers = Numbers(numbers.into_iter().cycle());
        let (plan, options) = (numbers.plan(), ControllerOptions::default());
        let mut seen = numbers.observation();
        seen.readings.rotate_left(shift);
        seen.readings.truncate(3);
        let (_, report) = sync(&plan, &seen, &options, State::default(), numbers.time());
        prop_assert!(report.proposals.iter().skip(3).all(Result::is_err));
    }
}
