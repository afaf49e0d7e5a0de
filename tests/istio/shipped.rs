//! The sets of `istio/` as they ship, with the paths and addresses of the test machine.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use burst_testkit::{ControlPlane, port, repository};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// Where a proxy of the test finds what a pod has at fixed places.
#[derive(Debug)]
pub(crate) struct Pod {
    account: TempDir,
    ca: PathBuf,
    api: u16,
    apis: u16,
}

impl Pod {
    /// A pod with that ServiceAccount, which is created.
    pub(crate) fn new(cluster: &ControlPlane, account: &str, namespace: &str) -> Self {
        cluster.apply(&format!(
            "{{apiVersion: v1, kind: Namespace, metadata: {{name: {namespace}}}}}\n---\n\
             {{apiVersion: v1, kind: ServiceAccount, metadata: {{name: {account}, namespace: {namespace}}}}}\n"
        ));
        let folder = tempfile::tempdir().expect("a temporary folder");
        let token = cluster.token(account, namespace, Duration::from_secs(3607));
        fs::write(folder.path().join("token"), token).expect("a file");
        Self {
            account: folder,
            ca: cluster.ca_file(),
            api: cluster.port(),
            apis: port::free(),
        }
    }

    fn tell(&self, text: &str) -> String {
        const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
        text.replace(&format!("{ACCOUNT}/ca.crt"), &self.ca.display().to_string())
            .replace(ACCOUNT, &self.account.path().display().to_string())
    }
}

/// The objects of a set, once the API server has said that it takes them; nothing is created.
pub(crate) fn set(cluster: &ControlPlane, name: &str) -> Vec<Value> {
    let folder = repository().join("istio").join(name);
    let folder = folder.to_str().expect("a path that is text");
    let dry_run = |verb, by| cluster.kubectl(&[verb, by, "--output=json", "--kustomize", folder]);
    dry_run("apply", "--dry-run=server");
    // Of an object that is there already, `apply` would answer with what the API server has.
    let objects = dry_run("create", "--dry-run=client");
    let objects = serde_json::Deserializer::from_str(&objects).into_iter();
    objects.collect::<Result<_, _>>().expect("JSON documents")
}

/// A set in the cluster.
#[derive(Debug)]
#[must_use]
pub(crate) struct Applied(String);

impl Applied {
    /// Deletes its objects without waiting: no controller here empties a namespace that is being deleted.
    pub(crate) fn delete(self, cluster: &ControlPlane) {
        cluster.kubectl_with(&["delete", "--wait=false", "--filename=-"], &self.0);
    }
}

/// Applies a set with this module, for proxies that have what `pod` has.
pub(crate) fn apply(cluster: &ControlPlane, name: &str, module: &Path, pod: &Pod) -> Applied {
    apply_objects(cluster, set(cluster, name), module, pod)
}

/// The same of objects that are not in a file.
pub(crate) fn apply_objects(cluster: &ControlPlane, mut objects: Vec<Value>, module: &Path, pod: &Pod) -> Applied {
    objects.iter_mut().for_each(|object| adapt(object, module, pod));
    let documents: Vec<_> = objects.iter().map(Value::to_string).collect();
    let documents = documents.join("\n---\n");
    cluster.apply(&documents);
    Applied(documents)
}

/// Tells an object where the module, the API server and the token are. Only Istio's agent can fetch an image, so an
/// Envoy without it is given the file.
pub(crate) fn adapt(object: &mut Value, module: &Path, pod: &Pod) {
    match object {
        Value::String(text) => *text = pod.tell(text),
        Value::Array(items) => items.iter_mut().for_each(|item| adapt(item, module, pod)),
        Value::Object(fields) => {
            if fields
                .get("address")
                .is_some_and(|address| address == "kubernetes.default.svc.cluster.local")
            {
                fields.insert("address".into(), json!("127.0.0.1"));
                fields.insert("port_value".into(), json!(pod.api));
            }
            if fields.get("kind").is_some_and(|kind| kind == "APIService") {
                fields["spec"]["service"]["port"] = json!(pod.apis);
            }
            if is_service_of_the_apis(fields) {
                fields.insert(
                    "spec".into(),
                    json!({"type": "ExternalName", "externalName": "127.0.0.1"}),
                );
            }
            if fields.get("address").is_some_and(|address| address == "0.0.0.0") {
                fields.insert("address".into(), json!("127.0.0.1"));
                fields.insert("port_value".into(), json!(pod.apis));
            }
            if fields.get("url").is_some_and(is_placeholder) {
                fields.insert("url".into(), json!(format!("file://{}", module.display())));
                fields.remove("sha256");
            }
            if fields
                .get("remote")
                .is_some_and(|remote| is_placeholder(&remote["http_uri"]["uri"]))
            {
                fields.clear();
                fields.insert("local".into(), json!({"filename": module}));
            }
            fields.values_mut().for_each(|value| adapt(value, module, pod));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The proxy of a test is no pod, which that Service would select.
fn is_service_of_the_apis(fields: &Map<String, Value>) -> bool {
    let is = |field: Option<&Value>, text| field.is_some_and(|found| found == text);
    let name = fields.get("metadata").and_then(|metadata| metadata.get("name"));
    is(fields.get("kind"), "Service") && is(name, "burst-metrics-apis")
}

fn is_placeholder(url: &Value) -> bool {
    url.as_str()
        .is_some_and(|url| url.starts_with("oci://registry.example.com/"))
}
