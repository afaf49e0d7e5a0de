//! Reads the HPAs of a cluster, and the objects that lints compare them with. It only lists.

use std::collections::HashSet;

use burst_hpa::Node;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::LimitRange;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, TypeMeta};

use crate::args::ClusterArgs;
use crate::input::{Input, Origin, SourceFile};
use crate::live::{Cluster, LiveError};
use crate::yaml::to_yaml;

/// The page size of lists.
const PAGE: u32 = 500;

/// The objects of a cluster.
pub struct ClusterObjects {
    /// The objects, each as a file of its own.
    pub input: Input,
    /// The resources that the user may not list, without which only some lints are missing.
    pub forbidden: Vec<String>,
}

/// Reads the HPAs and the objects that lints compare them with: of all namespaces, of one, or of the namespace of the
/// context.
///
/// # Errors
/// The cluster is not available, the namespace does not exist, or the user may not list HPAs, Deployments or StatefulSets.
pub fn read_cluster(args: &ClusterArgs) -> Result<ClusterObjects, LiveError> {
    let cluster = Cluster::connect(args)?;
    if let Some(namespace) = &args.namespace {
        cluster.require_namespace(namespace)?;
    }
    let namespace = match (&args.namespace, args.all_namespaces) {
        (Some(namespace), _) => Some(namespace.as_str()),
        (None, true) => None,
        (None, false) => Some(cluster.default_namespace()),
    };
    let mut objects = list(&cluster, &ApiResource::erase::<HorizontalPodAutoscaler>(&()), namespace)?;
    objects.extend(replica_sets(&cluster, &objects, namespace)?);
    for resource in [
        ApiResource::erase::<Deployment>(&()),
        ApiResource::erase::<StatefulSet>(&()),
    ] {
        objects.extend(list(&cluster, &resource, namespace)?);
    }
    let mut forbidden = Vec::new();
    for resource in optional_resources(&cluster)? {
        match list(&cluster, &resource, namespace) {
            Ok(listed) => objects.extend(listed),
            Err(LiveError::ListForbidden { .. }) => forbidden.push(resource.plural),
            Err(error) => return Err(error),
        }
    }
    let input = Input {
        origin: Origin::Cluster,
        ..Input::from_sources(objects.iter().map(source))
    };
    Ok(ClusterObjects { input, forbidden })
}

/// Returns the resources that only some lints need. Not every cluster has vertical autoscalers. KEDA's `ScaledObject`s are not
/// read, because the HPAs that KEDA writes for them are in the cluster.
fn optional_resources(cluster: &Cluster) -> Result<Vec<ApiResource>, LiveError> {
    let mut resources = vec![
        ApiResource::erase::<LimitRange>(&()),
        ApiResource::erase::<PodDisruptionBudget>(&()),
    ];
    let kind = GroupVersionKind::gvk("autoscaling.k8s.io", "v1", "VerticalPodAutoscaler");
    let discovery = cluster.get(&format!("/apis/{}/{}", kind.group, kind.version))?;
    if discovery.status().is_success() {
        resources.push(ApiResource::from_gvk_with_plural(&kind, "verticalpodautoscalers"));
    }
    Ok(resources)
}

/// Lists the ReplicaSets that lints need, if an HPA scales one. A ReplicaSet of a Deployment has the pods of the Deployment,
/// so it would only be a double, unless an HPA scales it.
fn replica_sets(
    cluster: &Cluster,
    hpas: &[DynamicObject],
    namespace: Option<&str>,
) -> Result<Vec<DynamicObject>, LiveError> {
    let targets: HashSet<_> = hpas.iter().filter_map(target_replica_set).collect();
    if targets.is_empty() {
        return Ok(Vec::new());
    }
    let mut sets = list(cluster, &ApiResource::erase::<ReplicaSet>(&()), namespace)?;
    sets.retain(|set| {
        let metadata = &set.metadata;
        let has_owner = metadata
            .owner_references
            .as_ref()
            .is_some_and(|owners| !owners.is_empty());
        !has_owner || targets.contains(&(metadata.namespace.as_deref(), metadata.name.as_deref()))
    });
    Ok(sets)
}

/// Returns the namespace and the name of the ReplicaSet that an HPA scales.
fn target_replica_set(hpa: &DynamicObject) -> Option<(Option<&str>, Option<&str>)> {
    let target = hpa.data.pointer("/spec/scaleTargetRef")?;
    let is_replica_set = target.get("kind")?.as_str()? == "ReplicaSet";
    is_replica_set.then_some((hpa.metadata.namespace.as_deref(), target.get("name")?.as_str()))
}

fn list(cluster: &Cluster, resource: &ApiResource, namespace: Option<&str>) -> Result<Vec<DynamicObject>, LiveError> {
    let api: Api<DynamicObject> = match namespace {
        Some(namespace) => Api::namespaced_with(cluster.client(), namespace, resource),
        None => Api::all_with(cluster.client(), resource),
    };
    let (mut objects, mut page) = (Vec::new(), ListParams::default().limit(PAGE));
    loop {
        let listed = cluster
            .request(api.list(&page))
            .map_err(|error| error.of_list(&resource.plural))?;
        objects.extend(listed.items.into_iter().map(|object| of_kind(object, resource)));
        match listed.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return Ok(objects),
        }
    }
}

/// Returns the object with its kind, which the items of a list omit, and without `managedFields`, which kubectl hides too.
fn of_kind(mut object: DynamicObject, resource: &ApiResource) -> DynamicObject {
    object.types = Some(TypeMeta {
        api_version: resource.api_version.clone(),
        kind: resource.kind.clone(),
    });
    object.metadata.managed_fields = None;
    object
}

/// Returns the object as a file that findings can point at.
fn source(object: &DynamicObject) -> SourceFile {
    let kind = object.types.as_ref().map_or("", |types| &types.kind);
    let [namespace, name] =
        [&object.metadata.namespace, &object.metadata.name].map(|part| part.as_deref().unwrap_or_default());
    let json = serde_json::to_value(object).unwrap_or_default().to_string();
    SourceFile {
        name: format!("{kind} {namespace}/{name}"),
        text: Node::from_json(&json).map_or(json, |node| to_yaml(&node)),
    }
}
