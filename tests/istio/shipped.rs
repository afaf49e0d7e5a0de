//! The sets of `istio/` as they ship, with the paths and addresses of the test machine.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use burst_testkit::{ControlPlane, port, repository};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// The paths and ports of the test that replace the fixed ones of a pod.
#[derive(Debug)]
pub(crate) struct Pod {
    account: TempDir,
    ca: PathBuf,
    api: u16,
    apis: u16,
}

impl Pod {
    /// A pod with that ServiceAccount, which this creates.
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

    fn localize(&self, text: &str) -> String {
        const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
        text.replace(&format!("{ACCOUNT}/ca.crt"), &self.ca.display().to_string())
            .replace(ACCOUNT, &self.account.path().display().to_string())
    }
}

/// The objects of a set. Checks that the API server accepts them, without creating them.
pub(crate) fn set(cluster: &ControlPlane, name: &str) -> Vec<Value> {
    let folder = repository().join("istio").join(name);
    let folder = folder.to_str().expect("a path that is text");
    let dry_run = |verb, by| cluster.kubectl(&[verb, by, "--output=json", "--kustomize", folder]);
    dry_run("apply", "--dry-run=server");
    // For an existing object, `apply` would print what the API server has stored.
    let objects = dry_run("create", "--dry-run=client");
    let objects = serde_json::Deserializer::from_str(&objects).into_iter();
    objects.collect::<Result<_, _>>().expect("JSON documents")
}

/// A set that has been applied.
#[derive(Debug)]
#[must_use]
pub(crate) struct Applied(String);

impl Applied {
    /// Deletes the objects without waiting: no controller here empties a namespace that is being deleted.
    pub(crate) fn delete(self, cluster: &ControlPlane) {
        cluster.kubectl_with(&["delete", "--wait=false", "--filename=-"], &self.0);
    }
}

/// Applies a set with this module, for proxies that have the files of `pod`.
pub(crate) fn apply(cluster: &ControlPlane, name: &str, module: &Path, pod: &Pod) -> Applied {
    apply_objects(cluster, set(cluster, name), module, pod)
}

/// Does the same with objects that are not in a file.
pub(crate) fn apply_objects(cluster: &ControlPlane, mut objects: Vec<Value>, module: &Path, pod: &Pod) -> Applied {
    objects.iter_mut().for_each(|object| adapt(object, module, pod));
    let documents: Vec<_> = objects.iter().map(Value::to_string).collect();
    let documents = documents.join("\n---\n");
    cluster.apply(&documents);
    Applied(documents)
}

/// Sets the locations of the module, the API server and the token in an object. Only Istio's agent can fetch an image,
/// so an Envoy without the agent gets the module as a file.
pub(crate) fn adapt(object: &mut Value, module: &Path, pod: &Pod) {
    match object {
        Value::String(text) => *text = pod.localize(text),
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

/// Whether this is the Service of the metrics APIs, which cannot select the test's proxy because that is not a pod.
fn is_service_of_the_apis(fields: &Map<String, Value>) -> bool {
    let is = |field: Option<&Value>, text| field.is_some_and(|found| found == text);
    let name = fields.get("metadata").and_then(|metadata| metadata.get("name"));
    is(fields.get("kind"), "Service") && is(name, "burst-metrics-apis")
}

fn is_placeholder(url: &Value) -> bool {
    url.as_str()
        .is_some_and(|url| url.starts_with("oci://registry.example.com/"))
}
