//! The resource request of a pod, as the controller computes it.

use std::collections::BTreeMap;

use thiserror::Error;

/// Requests by resource name, in thousandths (milli).
pub type ResourceList = BTreeMap<String, i64>;

/// The requests of a pod's spec.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// `spec.containers`.
    pub containers: Vec<Container>,
    /// `spec.initContainers`, in their order.
    pub init_containers: Vec<InitContainer>,
    /// `spec.resources.requests`. Where they are set, they replace the sum of the containers.
    pub pod: ResourceList,
    /// `spec.overhead`.
    pub overhead: ResourceList,
}

/// A container and `resources.requests`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Its name.
    pub name: String,
    /// Its requests.
    pub requests: ResourceList,
}

/// An init container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitContainer {
    /// Its name and requests.
    pub container: Container,
    /// `restartPolicy: Always`, that is, a sidecar that keeps running.
    pub restartable: bool,
}

/// Why a pod's request of a resource is not known.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RequestError {
    /// A container does not request the resource.
    #[error("missing request for {resource} in container {container} of Pod {pod}")]
    Container {
        /// The resource.
        resource: String,
        /// The container without a request.
        container: String,
        /// Its pod.
        pod: String,
    },
    /// The pod has pod-level requests, but neither they nor the containers request the resource.
    #[error("missing pod-level request for {resource} in Pod {pod}")]
    Pod {
        /// The resource.
        resource: String,
        /// The pod.
        pod: String,
    },
    /// The pod has no container of that name.
    #[error("container {container} not found in Pod {pod}")]
    NoContainer {
        /// The container that the metric names.
        container: String,
        /// The pod.
        pod: String,
    },
}

impl Requests {
    /// Returns how much of `resource` the pod named `pod` requests. With `container`, returns the request of that container.
    ///
    /// # Errors
    /// Fails if a container that counts does not request the resource.
    pub(super) fn amount(&self, resource: &str, container: Option<&str>, pod: &str) -> Result<i64, RequestError> {
        match container {
            Some(container) => self.container_amount(resource, container, pod),
            None if self.pod.keys().any(|name| pod_level(name)) => {
                self.at_pod_level(resource).ok_or_else(|| RequestError::Pod {
                    resource: resource.to_owned(),
                    pod: pod.to_owned(),
                })
            }
            None => self.running().try_fold(0i64, |sum, container| {
                Ok(sum.wrapping_add(container.request(resource, pod)?))
            }),
        }
    }

    fn container_amount(&self, resource: &str, container: &str, pod: &str) -> Result<i64, RequestError> {
        match self.running().find(|running| running.name == container) {
            Some(found) => found.request(resource, pod),
            None => Err(RequestError::NoContainer {
                container: container.to_owned(),
                pod: pod.to_owned(),
            }),
        }
    }

    /// Returns the containers that run as long as the pod.
    fn running(&self) -> impl Iterator<Item = &Container> {
        let sidecars = self
            .init_containers
            .iter()
            .filter(|init| init.restartable)
            .map(|init| &init.container);
        self.containers.iter().chain(sidecars)
    }

    /// Returns the pod-level request if there is one, otherwise the request that the scheduler uses. Adds the overhead to
    /// either.
    fn at_pod_level(&self, resource: &str) -> Option<i64> {
        let pod_request = self.pod.get(resource).copied().filter(|_| pod_level(resource));
        add(
            pod_request.or_else(|| self.scheduled(resource)),
            self.overhead.get(resource).copied(),
        )
    }

    /// Returns the sum of the running containers or the largest init container, whichever is larger, as the scheduler does.
    fn scheduled(&self, resource: &str) -> Option<i64> {
        let mut sidecars = None;
        let mut starting = None;
        for init in &self.init_containers {
            let request = init.container.requests.get(resource).copied();
            let needed = add(request, sidecars);
            if init.restartable {
                sidecars = needed;
            }
            starting = starting.max(needed);
        }
        let running = self.running().fold(None, |sum, container| {
            add(sum, container.requests.get(resource).copied())
        });
        running.max(starting)
    }
}

impl Container {
    fn request(&self, resource: &str, pod: &str) -> Result<i64, RequestError> {
        self.requests
            .get(resource)
            .copied()
            .ok_or_else(|| RequestError::Container {
                resource: resource.to_owned(),
                container: self.name.clone(),
                pod: pod.to_owned(),
            })
    }
}

/// Returns whether Kubernetes allows a pod-level request for the resource.
fn pod_level(resource: &str) -> bool {
    matches!(resource, "cpu" | "memory") || resource.starts_with("hugepages-")
}

fn add(one: Option<i64>, other: Option<i64>) -> Option<i64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.wrapping_add(other)),
        (known, None) | (None, known) => known,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(cpu: i64) -> ResourceList {
        ResourceList::from([("cpu".to_owned(), cpu)])
    }

    fn container(name: &str, requests: ResourceList) -> Container {
        Container {
            name: name.to_owned(),
            requests,
        }
    }

    fn init(name: &str, cpu: i64, restartable: bool) -> InitContainer {
        InitContainer {
            container: container(name, list(cpu)),
            restartable,
        }
    }

    #[test]
    fn sidecars_count_and_init_containers_do_not() {
        let requests = Requests {
            containers: vec![container("app", list(100)), container("log", list(20))],
            init_containers: vec![init("migrate", 5000, false), init("proxy", 50, true)],
            ..Requests::default()
        };
        assert_eq!(requests.amount("cpu", None, "web"), Ok(170));
        assert_eq!(requests.amount("cpu", Some("proxy"), "web"), Ok(50));
        let error = requests.amount("cpu", Some("migrate"), "web").unwrap_err();
        assert_eq!(error.to_string(), "container migrate not found in Pod web");
    }

    #[test]
    fn one_container_without_a_request_is_an_error_that_names_it() {
        let requests = Requests {
            containers: vec![container("app", list(100)), container("log", ResourceList::new())],
            ..Requests::default()
        };
        let error = requests.amount("cpu", None, "web").unwrap_err();
        assert_eq!(error.to_string(), "missing request for cpu in container log of Pod web");
        assert_eq!(requests.amount("cpu", Some("app"), "web"), Ok(100));
    }

    #[test]
    fn a_pod_level_request_replaces_the_sum() {
        let requests = Requests {
            containers: vec![container("app", ResourceList::new())],
            pod: list(300),
            overhead: list(7),
            ..Requests::default()
        };
        assert_eq!(requests.amount("cpu", None, "web"), Ok(307));
        let error = requests.amount("memory", None, "web").unwrap_err();
        assert_eq!(error.to_string(), "missing pod-level request for memory in Pod web");
    }

    #[test]
    fn a_pod_level_request_of_another_resource_leaves_what_the_scheduler_counts() {
        let requests = Requests {
            containers: vec![container("app", list(100))],
            init_containers: vec![init("proxy", 50, true), init("migrate", 400, false)],
            pod: ResourceList::from([("memory".to_owned(), 1)]),
            ..Requests::default()
        };
        assert_eq!(requests.amount("cpu", None, "web"), Ok(450));
    }
}
