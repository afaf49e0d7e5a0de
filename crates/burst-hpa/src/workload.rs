//! The part of a workload that an HPA depends on: its identity, its pods and their requests.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{
    Deployment, DeploymentSpec, ReplicaSet, ReplicaSetSpec, StatefulSet, StatefulSetSpec,
};
use k8s_openapi::api::core::v1::{
    Container, PodSpec, PodTemplateSpec, ReplicationController, ReplicationControllerSpec,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Written;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::metric::Resource;
use crate::spec::OptionalField as _;

/// The namespace of an object without one.
pub(crate) const DEFAULT_NAMESPACE: &str = "default";

/// The default of `maxSurge`.
const DEFAULT_SURGE: &str = "25%";

/// An object that runs pods from a template.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Such as `apps/v1`.
    pub api_version: String,
    /// The kind, such as `Deployment`.
    pub kind: String,
    /// `None` for the namespace of the request.
    pub namespace: Option<String>,
    /// Of the object.
    pub name: String,
    /// `spec.replicas`, if a manifest sets it. `None` for an object of a cluster, which always has the field.
    pub replicas: Option<i32>,
    /// How many pods a rollout may add to the replicas; `None` where it adds none.
    pub max_surge: Option<IntOrString>,
    /// Which pods count as this workload's.
    pub selector: LabelSelector,
    /// The template of its pods.
    pub template: PodTemplateSpec,
}

impl Workload {
    fn new<K: k8s_openapi::Resource>(metadata: &ObjectMeta, replicas: Option<i32>) -> Self {
        Self {
            api_version: K::API_VERSION.to_owned(),
            kind: K::KIND.to_owned(),
            namespace: metadata.namespace.clone(),
            name: metadata.name.clone().unwrap_or_default(),
            // Only objects of a cluster have a uid.
            replicas: replicas.filter(|_| metadata.uid.is_none()),
            max_surge: None,
            selector: LabelSelector::default(),
            template: PodTemplateSpec::default(),
        }
    }

    /// `Deployment shop/web`.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} {}/{}", self.kind, self.namespace(), self.name)
    }

    pub(crate) fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE)
    }

    pub(crate) fn labels(&self) -> BTreeMap<String, String> {
        self.template
            .metadata
            .as_ref()
            .and_then(|metadata| metadata.labels.clone())
            .unwrap_or_default()
    }

    pub(crate) fn pod(&self) -> Option<&PodSpec> {
        self.template.spec.as_ref()
    }

    /// The containers that run as long as the pod does: the usual ones, and init containers that are restarted.
    pub(crate) fn containers(&self) -> impl Iterator<Item = &Container> {
        let restarted = |container: &&Container| container.restart_policy.as_deref() == Some("Always");
        self.pod().into_iter().flat_map(move |pod| {
            pod.containers
                .iter()
                .chain(pod.init_containers.iter().flatten().filter(restarted))
        })
    }
}

/// The request of a container. A limit without a request counts as one, because the API server copies it.
pub(crate) fn request(container: &Container, resource: Resource) -> Option<&Written> {
    let resources = container.resources.as_ref()?;
    amount(resources.requests.as_ref(), resource).or_else(|| amount(resources.limits.as_ref(), resource))
}

/// The limit of a container.
pub(crate) fn limit(container: &Container, resource: Resource) -> Option<&Written> {
    amount(container.resources.as_ref()?.limits.as_ref(), resource)
}

pub(crate) fn amount(amounts: Option<&BTreeMap<String, Written>>, resource: Resource) -> Option<&Written> {
    amounts?.get(resource.as_str())
}

pub(crate) fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

fn max_surge(spec: &DeploymentSpec) -> Option<IntOrString> {
    let strategy = spec.strategy.as_ref();
    if strategy.and_then(|strategy| strategy.type_.as_deref()) == Some("Recreate") {
        return None;
    }
    let written = strategy.and_then(|strategy| strategy.rolling_update.as_ref()?.max_surge.clone());
    Some(written.unwrap_or(IntOrString::String(DEFAULT_SURGE.to_owned())))
}

impl From<&Deployment> for Workload {
    fn from(deployment: &Deployment) -> Self {
        let spec: Option<&DeploymentSpec> = deployment.spec.as_option();
        Self {
            max_surge: spec.and_then(max_surge),
            selector: spec.map(|spec| spec.selector.clone()).unwrap_or_default(),
            template: spec.map(|spec| spec.template.clone()).unwrap_or_default(),
            ..Self::new::<Deployment>(&deployment.metadata, spec.and_then(|spec| spec.replicas))
        }
    }
}

impl From<&StatefulSet> for Workload {
    fn from(set: &StatefulSet) -> Self {
        let spec: Option<&StatefulSetSpec> = set.spec.as_option();
        Self {
            selector: spec.map(|spec| spec.selector.clone()).unwrap_or_default(),
            template: spec.map(|spec| spec.template.clone()).unwrap_or_default(),
            ..Self::new::<StatefulSet>(&set.metadata, spec.and_then(|spec| spec.replicas))
        }
    }
}

impl From<&ReplicaSet> for Workload {
    fn from(set: &ReplicaSet) -> Self {
        let spec: Option<&ReplicaSetSpec> = set.spec.as_option();
        Self {
            selector: spec.map(|spec| spec.selector.clone()).unwrap_or_default(),
            template: spec.and_then(|spec| spec.template.clone()).unwrap_or_default(),
            ..Self::new::<ReplicaSet>(&set.metadata, spec.and_then(|spec| spec.replicas))
        }
    }
}

impl From<&ReplicationController> for Workload {
    fn from(controller: &ReplicationController) -> Self {
        let spec: Option<&ReplicationControllerSpec> = controller.spec.as_ref();
        let selector = LabelSelector {
            match_labels: spec.and_then(|spec| spec.selector.clone()),
            match_expressions: None,
        };
        Self {
            selector,
            template: spec.and_then(|spec| spec.template.clone()).unwrap_or_default(),
            ..Self::new::<ReplicationController>(&controller.metadata, spec.and_then(|spec| spec.replicas))
        }
    }
}
