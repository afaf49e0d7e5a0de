//! The objects of a cluster; each change has its own resource version, as in etcd.

mod object;
mod resource;
mod store;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};
use tokio::sync::watch;

pub use object::ObjectError;
pub use resource::Resource;
pub(crate) use resource::group_resource;
pub use store::{Compacted, Event};

use crate::hpa;
use object::{Identity, merge, with_server_metadata};
use store::ResourceStore;

/// `horizontalpodautoscalers.autoscaling`.
pub const HPAS: &str = "horizontalpodautoscalers.autoscaling";
/// The core resource `services`.
pub const SERVICES: &str = "services";
/// `deployments.apps`.
pub const DEPLOYMENTS: &str = "deployments.apps";
/// `statefulsets.apps`.
pub const STATEFULSETS: &str = "statefulsets.apps";

/// A handle on the objects; clones share them.
#[derive(Clone)]
pub struct Cluster(Arc<Mutex<ClusterState>>);

struct ClusterState {
    version: u64,
    /// Announces each new version.
    changes: watch::Sender<u64>,
    resources: BTreeMap<String, ResourceStore>,
}

/// The objects of one resource at one resource version, ordered by key.
pub(crate) struct Listing {
    pub(crate) resource: Resource,
    pub(crate) version: u64,
    pub(crate) objects: Vec<(String, Arc<Value>)>,
}

impl Default for Cluster {
    fn default() -> Self {
        Cluster::new()
    }
}

impl Cluster {
    /// An empty cluster that serves Services, Deployments, StatefulSets and HorizontalPodAutoscalers.
    pub fn new() -> Self {
        let resources = Resource::built_ins().map(|resource| (resource.id(), ResourceStore::new(resource)));
        Cluster(Arc::new(Mutex::new(ClusterState {
            version: 1,
            changes: watch::Sender::new(1),
            resources: resources.into(),
        })))
    }

    /// Serves one more resource, as applying its CustomResourceDefinition does.
    pub fn register(&self, resource: Resource) {
        self.state()
            .resources
            .entry(resource.id())
            .or_insert_with(|| ResourceStore::new(resource));
    }

    /// Creates or replaces an object; returns the new resource version of the cluster.
    ///
    /// # Errors
    /// The kind is not registered, or the object has no name.
    pub fn apply(&self, object: Value) -> Result<u64, ObjectError> {
        let identity = Identity::of(&object)?;
        let mut state = self.state();
        let id = state.resource_id(&identity)?;
        let serial = state.version + 1;
        let before = state
            .resource_store(&id)
            .and_then(|store| store.object(&identity.key()))
            .cloned();
        let object = with_server_metadata(object, before.as_deref(), &identity, serial);
        Ok(state.put(&id, &identity.key(), before.as_deref(), object))
    }

    /// Applies every document of a YAML or JSON text.
    ///
    /// # Errors
    /// As [`Cluster::apply`]; the documents before the invalid one stay applied.
    pub fn apply_yaml(&self, text: &str) -> Result<u64, ObjectError> {
        let documents: Vec<Value> =
            serde_saphyr::from_multiple(text).map_err(|error| ObjectError::Yaml(error.to_string()))?;
        documents
            .into_iter()
            .filter(|document| !document.is_null())
            .try_fold(self.version(), |_, object| self.apply(object))
    }

    /// Applies a merge patch (RFC 7386); a patch without a change creates no resource version.
    ///
    /// # Errors
    /// The object does not exist.
    pub fn patch(&self, resource: &str, key: &str, patch: &Value) -> Result<u64, ObjectError> {
        let mut state = self.state();
        let Some(before) = state
            .resource_store(resource)
            .and_then(|store| store.object(key))
            .cloned()
        else {
            return Err(ObjectError::NotFound {
                resource: resource.to_owned(),
                key: key.to_owned(),
            });
        };
        let mut object = Value::clone(&before);
        merge(&mut object, patch);
        Ok(state.put(resource, key, Some(&before), object))
    }

    /// `status.currentReplicas` of the HPA `namespace/name`. `None` if the HPA or the field does not exist.
    #[must_use]
    pub fn current_replicas(&self, hpa: &str) -> Option<u32> {
        hpa::number(&*self.object(HPAS, hpa)?, hpa::CURRENT_REPLICAS)
    }

    /// Sets `status.currentReplicas` and `status.desiredReplicas` of the HPA `namespace/name`, as the HPA controller does.
    ///
    /// # Errors
    /// The HPA does not exist.
    pub fn set_current_replicas(&self, hpa: &str, replicas: u32) -> Result<u64, ObjectError> {
        self.patch(
            HPAS,
            hpa,
            &json!({ "status": { "currentReplicas": replicas, "desiredReplicas": replicas } }),
        )
    }

    /// Deletes an object; returns false if it does not exist.
    pub fn delete(&self, resource: &str, key: &str) -> bool {
        let mut state = self.state();
        let there = state
            .resource_store(resource)
            .is_some_and(|store| store.object(key).is_some());
        if there {
            state.change(resource, key, None);
        }
        there
    }

    /// Returns one object by resource and `namespace/name`.
    pub fn object(&self, resource: &str, key: &str) -> Option<Arc<Value>> {
        self.state().resource_store(resource)?.object(key).cloned()
    }

    /// Returns every object of a resource with its `namespace/name`.
    pub fn objects(&self, resource: &str) -> Vec<(String, Arc<Value>)> {
        let state = self.state();
        let store = state.resource_store(resource);
        store.map_or_else(Vec::new, |store| {
            store
                .objects()
                .iter()
                .map(|(k, o)| (k.clone(), Arc::clone(o)))
                .collect()
        })
    }

    /// Returns the resource version of the newest change.
    pub fn version(&self) -> u64 {
        self.state().version
    }

    /// Returns the changes of a resource after `version`, oldest first, as a watch reports them.
    ///
    /// # Errors
    /// `version` was compacted. An unknown resource has no changes.
    pub fn events(&self, resource: &str, version: u64) -> Result<Vec<Event>, Compacted> {
        self.state()
            .resource_store(resource)
            .map_or_else(|| Ok(Vec::new()), |store| store.events_since(version))
    }

    /// Returns the changes of a resource after `version`, and the resource version up to which they are complete.
    pub(crate) fn events_and_version(&self, resource: &str, version: u64) -> Result<(Vec<Event>, u64), Compacted> {
        let state = self.state();
        let events = state
            .resource_store(resource)
            .map_or_else(|| Ok(Vec::new()), |store| store.events_since(version))?;
        Ok((events, state.version))
    }

    /// Returns a receiver that is told each new resource version.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.state().changes.subscribe()
    }

    /// Drops all earlier resource versions, as a real cluster does after about five minutes: continue tokens that were given
    /// out expire (410). Open watches expire, too, as if the API server had been restarted meanwhile.
    pub fn compact(&self) {
        let mut state = self.state();
        let version = state.next_version();
        state.resources.values_mut().for_each(|store| store.compact(version));
    }

    /// Returns the resource of a group, version and plural, if it is served.
    pub(crate) fn resource(&self, group: &str, version: &str, plural: &str) -> Option<Resource> {
        let state = self.state();
        let store = state.resource_store(&group_resource(group, plural))?;
        (store.resource.version == version).then(|| store.resource.clone())
    }

    /// Returns whether any resource of the API group is served.
    pub(crate) fn serves_group(&self, group: &str) -> bool {
        self.state()
            .resources
            .values()
            .any(|store| store.resource.group == group)
    }

    pub(crate) fn listing(&self, resource: &Resource, at: Option<u64>) -> Result<Listing, Compacted> {
        let state = self.state();
        let version = at.unwrap_or(state.version);
        let objects = state
            .resource_store(&resource.id())
            .map_or_else(|| Ok(BTreeMap::new()), |store| store.objects_at(version))?;
        Ok(Listing {
            resource: resource.clone(),
            version,
            objects: objects.into_iter().collect(),
        })
    }

    fn state(&self) -> MutexGuard<'_, ClusterState> {
        crate::locked(&self.0)
    }
}

impl ClusterState {
    fn resource_store(&self, id: &str) -> Option<&ResourceStore> {
        self.resources.get(id)
    }

    fn resource_id(&self, identity: &Identity) -> Result<String, ObjectError> {
        let named = |store: &&ResourceStore| {
            store.resource.kind == identity.kind && store.resource.api_version() == identity.api_version
        };
        self.resources
            .values()
            .find(named)
            .map(|store| store.resource.id())
            .ok_or_else(|| ObjectError::UnknownKind {
                api_version: identity.api_version.clone(),
                kind: identity.kind.clone(),
            })
    }

    fn put(&mut self, id: &str, key: &str, before: Option<&Value>, mut object: Value) -> u64 {
        let same_version = before
            .and_then(|before| before.pointer("/metadata/resourceVersion"))
            .cloned();
        object["metadata"]["resourceVersion"] = same_version.unwrap_or(Value::Null);
        if before == Some(&object) {
            return self.version;
        }
        object["metadata"]["resourceVersion"] = json!((self.version + 1).to_string());
        self.change(id, key, Some(Arc::new(object)))
    }

    fn change(&mut self, id: &str, key: &str, after: Option<Arc<Value>>) -> u64 {
        let version = self.next_version();
        if let Some(store) = self.resources.get_mut(id) {
            store.change(version, key, after);
        }
        version
    }

    /// Watches that hear of the version look at the state only after the caller has changed it, because it is locked.
    fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.changes.send_replace(self.version);
        self.version
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEB: &str = "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {ports: []}}";

    #[test]
    fn every_change_raises_the_resource_version() {
        let cluster = Cluster::new();
        let created = cluster.apply_yaml(WEB).unwrap();
        let patched = cluster
            .patch(SERVICES, "shop/web", &json!({ "metadata": { "labels": { "a": "b" } } }))
            .unwrap();
        assert!(patched > created);
        assert_eq!(
            cluster.object(SERVICES, "shop/web").unwrap()["metadata"]["resourceVersion"],
            patched.to_string()
        );
        assert!(cluster.delete(SERVICES, "shop/web"));
        assert!(cluster.version() > patched);
        assert!(!cluster.delete(SERVICES, "shop/web"));
    }

    #[test]
    fn a_change_that_changes_nothing_makes_no_version() {
        let cluster = Cluster::new();
        let created = cluster.apply_yaml(WEB).unwrap();
        assert_eq!(cluster.apply_yaml(WEB).unwrap(), created);
        assert_eq!(cluster.patch(SERVICES, "shop/web", &json!({})).unwrap(), created);
    }

    #[test]
    fn several_documents_are_applied_and_an_unknown_kind_is_refused() {
        let cluster = Cluster::new();
        cluster
            .apply_yaml(&format!("{WEB}\n---\n{}\n", WEB.replace("name: web", "name: api")))
            .unwrap();
        let keys: Vec<_> = cluster.objects(SERVICES).into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["shop/api", "shop/web"]);
        let refused = cluster
            .apply(json!({ "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": { "name": "x" } }));
        let text = refused.unwrap_err().to_string();
        assert_eq!(
            text,
            r#"apiVersion "argoproj.io/v1alpha1", kind "Rollout": no such resource is registered"#
        );
    }

    #[test]
    fn a_registered_custom_resource_is_taken() {
        let cluster = Cluster::new();
        cluster.register(Resource::custom("argoproj.io", "v1alpha1", "rollouts", "Rollout"));
        cluster
            .apply(json!({ "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": { "name": "x" } }))
            .unwrap();
        assert!(cluster.object("rollouts.argoproj.io", "default/x").is_some());
    }

    #[test]
    fn a_missing_hpa_cannot_be_scaled() {
        let error = Cluster::new().set_current_replicas("a/b", 3).unwrap_err();
        assert_eq!(
            error.to_string(),
            r#"horizontalpodautoscalers.autoscaling "a/b" not found"#
        );
    }
}
