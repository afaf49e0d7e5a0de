//! A cluster with a real HPA controller, by two kinds of kubeconfig.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use burst_testkit::{ControlPlane, Controllers, http, wait};
use serde_json::{Value, json};

use crate::folder::{LocalFolder, Running, TIMEOUT};

const SHOP: &str = "
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: web}]}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {selector: {app: web}, ports: [{port: 80}]}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 10
";

/// A role that may list the resources of the filter, and nothing else.
const READER: &str = "
{apiVersion: v1, kind: ServiceAccount, metadata: {name: reader, namespace: default}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: burst-metrics}
subjects: [{kind: ServiceAccount, name: reader, namespace: default}]
";

const HEADER: &str = "service=shop/web, current-load=3, target-load=8, max-load=10";

/// Its path in Envoy.
const PATH: &str = "/burstmetrics/services/shop/web";

fn shop() -> ControlPlane {
    let mut cluster = ControlPlane::start();
    cluster.apply(SHOP);
    // The HPA controller needs the Deployment controller, which counts the replicas.
    cluster.start_controllers(Controllers::All);
    cluster
}

fn start(folder: &LocalFolder, kubeconfig: &Path, context: &str) -> Running {
    let mut command = folder.run();
    command.args(["--context", context]).env("KUBECONFIG", kubeconfig);
    folder.start("burst-lab", &mut command)
}

/// The line of the Service, and the log lines of Envoy.
fn wait_for_the_service(folder: &LocalFolder, lab: &Running) {
    let line = format!("shop/web              x-burst: {HEADER}");
    wait::for_ok(TIMEOUT, "the line of shop/web", || {
        let log = lab.0.log();
        if log.contains(&line) { Ok(()) } else { Err(log) }
    });
    let url = format!("http://{}{PATH}", folder.addr("8080"));
    let answer = wait::for_ok(TIMEOUT, "the header from Envoy", || match http::get(&url) {
        answer if answer.status == 200 => Ok(answer),
        answer => Err(format!("{answer:?}")),
    });
    assert_eq!(answer.body, HEADER);
}

#[test]
fn a_kubeconfig_with_a_client_certificate_shows_its_cluster() {
    let cluster = shop();
    let folder = LocalFolder::new();
    let before = versions(&cluster);
    let lab = start(&folder, &cluster.kubeconfig(), "test");
    wait_for_the_service(&folder, &lab);
    let log = lab.0.log();
    assert!(
        log.contains(&format!(
            "the Kubernetes API on https://127.0.0.1:{}; try:",
            cluster.port()
        )),
        "{log}"
    );
    assert!(
        log.contains(&format!(
            "curl -i localhost:{}/burstmetrics/services/",
            folder.addr("8080").port()
        )),
        "{log}"
    );

    let api = folder.addr("8001");
    let secrets = http::get(&format!("http://{api}/api/v1/namespaces/default/secrets"));
    assert!(
        secrets.status == 403 && secrets.body.contains("only lists"),
        "{secrets:?}"
    );
    let write = http::send(
        "DELETE",
        &format!("http://{api}/api/v1/namespaces/shop/services/web"),
        &[],
    );
    assert_eq!(write.status, 405, "{write:?}");
    lab.terminate();
    assert!(
        lab.0
            .log()
            .contains(&format!("lists of https://127.0.0.1:{} in", cluster.port())),
        "{}",
        lab.0.log()
    );
    assert_eq!(versions(&cluster), before, "the run wrote nothing to the cluster");
}

/// Scales the Deployment, whose header follows through the proxy of the kubeconfig while its watches stay open.
fn wait_for_changes_by_stream(folder: &LocalFolder, cluster: &ControlPlane) {
    let url = format!("http://{}{PATH}", folder.addr("8080"));
    let mut sizes = [5, 3].into_iter().cycle();
    folder.wait_for_changes_by_stream(|| {
        let size = sizes.next().expect("a cycle has no end");
        cluster.kubectl(&[
            "scale",
            "deployment",
            "web",
            "--namespace=shop",
            &format!("--replicas={size}"),
        ]);
        let expected = HEADER.replace("current-load=3", &format!("current-load={size}"));
        wait::until(TIMEOUT, "the header of the new size", || {
            http::get(&url).body == expected
        });
    });
}

#[test]
fn a_kubeconfig_with_an_exec_plugin_shows_its_cluster() {
    let cluster = shop();
    cluster.apply(&fs::read_to_string(burst_testkit::repository().join("istio/base/rbac.yaml")).unwrap());
    cluster.apply(READER);
    let folder = LocalFolder::new();
    let kubeconfig = exec_kubeconfig(&folder, &cluster);
    let lab = start(&folder, &kubeconfig, "");
    wait_for_the_service(&folder, &lab);
    assert_eq!(
        fs::read_to_string(folder.path().join("asked")).unwrap().lines().next(),
        Some("token")
    );
    wait_for_changes_by_stream(&folder, &cluster);
}

/// A kubeconfig as cloud providers write it: a command prints the credential.
fn exec_kubeconfig(folder: &LocalFolder, cluster: &ControlPlane) -> PathBuf {
    let token = cluster.token("reader", "default", Duration::from_secs(3607));
    let credential = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": token},
    });
    let path = |name: &str| folder.path().join(name);
    fs::write(path("credential"), credential.to_string()).unwrap();
    let script = "echo \"$1\" >> \"$FOLDER/asked\"\ncat \"$FOLDER/credential\"\n";
    fs::write(path("plugin.sh"), script).unwrap();
    let mut config: Value = serde_json::from_str(&fs::read_to_string(cluster.kubeconfig()).unwrap()).unwrap();
    config["users"][0]["user"] = json!({"exec": {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "sh",
        "args": [path("plugin.sh"), "token"],
        "env": [{"name": "FOLDER", "value": folder.path()}],
        "interactiveMode": "Never",
    }});
    fs::write(path("kubeconfig"), config.to_string()).unwrap();
    path("kubeconfig")
}

/// The last writes to each object of the shop, without those of the controllers.
fn versions(cluster: &ControlPlane) -> String {
    let path =
        "--output=jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.generation} {.metadata.uid}\n{end}";
    cluster.kubectl(&["get", "services,deployments,hpa,secrets", "--all-namespaces", path])
}
