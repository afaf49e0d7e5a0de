//! Pods and their requests.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container as Written, Pod as WrittenPod, PodSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time as WrittenTime;

use super::error::ReadError;
use super::quantity;
use crate::simulate::observation::{Phase, Pod, Ready};
use crate::simulate::requests::{Container, InitContainer, Requests, ResourceList};
use crate::simulate::time::Time;

impl TryFrom<&WrittenPod> for Pod {
    type Error = ReadError;

    /// Reads a pod; its times count from the Unix epoch.
    ///
    /// # Errors
    /// Names the first request that is not a quantity.
    fn try_from(pod: &WrittenPod) -> Result<Self, ReadError> {
        let status = pod.status.clone().unwrap_or_default();
        let ready = status
            .conditions
            .iter()
            .flatten()
            .find(|condition| condition.type_ == "Ready");
        Ok(Self {
            name: pod.metadata.name.clone().unwrap_or_default(),
            phase: phase(status.phase.as_deref().unwrap_or_default()),
            ready: ready.map(|condition| Ready {
                status: verdict(&condition.status),
                since: condition
                    .last_transition_time
                    .as_ref()
                    .map_or(Time::DISTANT_PAST, moment),
            }),
            started: status.start_time.as_ref().map(moment),
            deleted: pod.metadata.deletion_timestamp.is_some(),
            requests: pod
                .spec
                .as_ref()
                .map(Requests::try_from)
                .transpose()?
                .unwrap_or_default(),
        })
    }
}

impl TryFrom<&PodSpec> for Requests {
    type Error = ReadError;

    /// Reads the requests of the pods of this spec, as the API server stores it.
    ///
    /// # Errors
    /// Names the first request that is not a quantity.
    fn try_from(spec: &PodSpec) -> Result<Self, ReadError> {
        let pod = spec
            .resources
            .as_ref()
            .and_then(|resources| resources.requests.as_ref());
        let containers = spec.containers.iter().enumerate();
        let inits = spec.init_containers.iter().flatten().enumerate();
        Ok(Self {
            containers: containers
                .map(|(index, written)| container(written, &format!("spec.containers[{index}]")))
                .collect::<Result<_, _>>()?,
            init_containers: inits
                .map(|(index, written)| init_container(written, &format!("spec.initContainers[{index}]")))
                .collect::<Result<_, _>>()?,
            pod: list(pod, "spec.resources.requests")?,
            overhead: list(spec.overhead.as_ref(), "spec.overhead")?,
        })
    }
}

fn init_container(written: &Written, at: &str) -> Result<InitContainer, ReadError> {
    let restartable = written.restart_policy.as_deref() == Some("Always");
    Ok(InitContainer {
        container: container(written, at)?,
        restartable,
    })
}

fn container(written: &Written, at: &str) -> Result<Container, ReadError> {
    let requests = written
        .resources
        .as_ref()
        .and_then(|resources| resources.requests.as_ref());
    Ok(Container {
        name: written.name.clone(),
        requests: list(requests, &format!("{at}.resources.requests"))?,
    })
}

fn list(requests: Option<&BTreeMap<String, Quantity>>, at: &str) -> Result<ResourceList, ReadError> {
    let requests = requests.into_iter().flatten();
    requests
        .map(|(name, written)| Ok((name.clone(), quantity::milli(written, &format!("{at}[{name}]"))?)))
        .collect()
}

/// A pod without a kubelet has no phase. The controller treats it, and any other value, like `Unknown`.
fn phase(phase: &str) -> Phase {
    match phase {
        "Pending" => Phase::Pending,
        "Running" => Phase::Running,
        "Succeeded" => Phase::Succeeded,
        "Failed" => Phase::Failed,
        _ => Phase::Unknown,
    }
}

fn verdict(status: &str) -> Option<bool> {
    match status {
        "True" => Some(true),
        "False" => Some(false),
        _ => None,
    }
}

fn moment(time: &WrittenTime) -> Time {
    Time::from_millis(time.0.as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_a_pod_is_read() {
        let json = r#"{
            "metadata": {"name": "web-1", "deletionTimestamp": "1970-01-01T00:02:00Z"},
            "spec": {
                "containers": [{"name": "app", "resources": {"requests": {"cpu": "250m"}}}],
                "initContainers": [{"name": "proxy", "restartPolicy": "Always", "resources": {"requests": {"cpu": 1}}}],
                "resources": {"requests": {"memory": "1Gi"}},
                "overhead": {"cpu": "5m"}
            },
            "status": {
                "phase": "Running",
                "startTime": "1970-01-01T00:01:00Z",
                "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "1970-01-01T00:01:30Z"}]
            }
        }"#;
        let pod = Pod::try_from(&serde_json::from_str::<WrittenPod>(json).unwrap()).unwrap();
        assert!(pod.deleted && !pod.serves());
        assert_eq!(pod.phase, Phase::Running);
        assert_eq!(pod.started, Some(Time::from_secs(60)));
        assert_eq!(
            pod.ready,
            Some(Ready {
                status: Some(false),
                since: Time::from_secs(90)
            })
        );
        assert_eq!(pod.requests.amount("cpu", Some("proxy"), "web-1"), Ok(1000));
        assert_eq!(pod.requests.amount("cpu", None, "web-1"), Ok(1255));
        assert_eq!(
            pod.requests.amount("memory", None, "web-1"),
            Ok(1024 * 1024 * 1024 * 1000)
        );
    }
}
