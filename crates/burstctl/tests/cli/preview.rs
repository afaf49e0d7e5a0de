//! `preview` with a real API server.

use std::fs;
use std::process::{Command, Output};
use std::time::Duration;

use burst_testkit::{ControlPlane, repository, wait};

use crate::support::service_account::Kubeconfig;

const SOON: Duration = Duration::from_secs(120);

/// Objects with a Service for every reason to have no header, and for every finding about one that has a header.
const ODDITIES: &str = include_str!("../data/oddities.yaml");

fn command(cluster: &ControlPlane, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_burstctl"));
    command
        .arg("preview")
        .args(args)
        .env("KUBECONFIG", cluster.kubeconfig());
    command
}

fn preview(cluster: &ControlPlane, args: &[&str]) -> Output {
    command(cluster, args).output().unwrap()
}

fn transcript(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (out, messages) = (text(&output.stdout), text(&output.stderr));
    format!(
        "{out}--- stderr\n{messages}--- exit code {}",
        output.status.code().unwrap()
    )
}

/// Creates the objects with the status in their file, as controllers would.
fn create(cluster: &ControlPlane, manifest: &str) {
    cluster.apply(manifest);
    let status = [
        "apply",
        "--server-side",
        "--force-conflicts",
        "--subresource=status",
        "-f",
        "-",
    ];
    cluster.kubectl_with(&status, manifest);
}

#[test]
fn every_service_has_a_header_or_a_reason() {
    let cluster = ControlPlane::start();
    for namespace in ["shop", "stock"] {
        cluster.kubectl(&["create", "namespace", namespace]);
    }
    create(&cluster, ODDITIES);
    let folder = tempfile::tempdir().unwrap();
    let configured = |configuration: &str| {
        fs::write(folder.path().join("config.yaml"), configuration).unwrap();
        let mut command = command(&cluster, &["--config", "config.yaml"]);
        transcript(&command.current_dir(folder.path()).output().unwrap())
    };

    let readme = fs::read_to_string(repository().join("crates/burstctl/README.md")).unwrap();
    let all = preview(&cluster, &[]);
    let all = String::from_utf8([all.stdout, all.stderr].concat()).unwrap();
    assert!(
        readme.contains(&format!("```console\n$ burstctl preview\n{all}```\n")),
        "{all}"
    );
    insta::assert_snapshot!(
        "preview_json",
        transcript(&preview(&cluster, &["--output", "json", "-A"]))
    );
    insta::assert_snapshot!(
        "preview_of_a_namespace_that_is_well",
        transcript(&preview(&cluster, &["-n", "stock"]))
    );

    let absent = preview(&cluster, &["-n", "shopp"]);
    let expected = "burstctl: namespace \"shopp\" does not exist in the cluster at https://127.0.0.1:";
    let absent = transcript(&absent);
    assert!(
        absent.contains(expected) && absent.ends_with("--- exit code 2"),
        "{absent}"
    );
    // An existing namespace without objects is in order.
    assert_eq!(preview(&cluster, &["-n", "kube-public"]).status.code(), Some(0));

    // A filter configuration with pages of one object, another percentage, another kind and another header name.
    let configuration = "cluster: kubernetes\npage_size: 1\nnamespaces: [stock]\ntarget_percent: 50\nheader: {name: X-Room}\nworkloads:\n\
         - {group: apps, version: v1, resource: deployments, kind: Deployment}\n\
         - {group: argoproj.io, version: v1alpha1, resource: rollouts, kind: Rollout}\n";
    insta::assert_snapshot!("preview_by_configuration", configured(configuration));
    let refused = "burstctl: config.yaml: namespace: unknown field `namespace`, expected one of `cluster`, ";
    let misspelt = configured("cluster: kubernetes\nnamespace: [stock]\n");
    assert!(
        misspelt.contains(refused) && misspelt.ends_with("\n--- exit code 2"),
        "{misspelt}"
    );
    let other_kind = configured("kind: ConfigMap\n");
    assert!(
        other_kind.contains("config.yaml: neither the filter's configuration nor "),
        "{other_kind}"
    );

    // The configuration in the form of the shipped manifests.
    let shipped = repository().join("istio/sidecar/plugin.yaml");
    let output = preview(&cluster, &["--config", shipped.to_str().unwrap(), "-n", "stock"]);
    assert_eq!(
        transcript(&output),
        "--- stderr\nburstctl: the configuration does not read namespace stock: it is not in `namespaces`\n--- exit code 2"
    );
}

#[test]
fn missing_list_rights_are_named() {
    let cluster = ControlPlane::start();
    cluster.apply(
        "
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: default}
rules:
- {apiGroups: [autoscaling], resources: [horizontalpodautoscalers], verbs: [list]}
- {apiGroups: [''], resources: [services], verbs: [list]}
- {apiGroups: [apps], resources: [deployments], verbs: [list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: default}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: default}
",
    );
    // The API server needs a moment to apply a new role.
    let reader = "--as=system:serviceaccount:default:reader";
    let may = ["auth", "can-i", "list", "services", "--namespace=default", reader];
    wait::for_ok(SOON, "the role", || cluster.try_kubectl(&may, ""));
    let kubeconfig = Kubeconfig::of(&cluster, "reader");
    let preview = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_burstctl"));
        command.arg("preview").args(args).env("KUBECONFIG", kubeconfig.path());
        transcript(&command.output().unwrap())
    };
    insta::assert_snapshot!("preview_forbidden_everywhere", preview(&[]));
    insta::assert_snapshot!(
        "preview_forbidden_in_one_list",
        preview(&["--context", "reader", "-n", "default"])
    );
    let absent = preview(&["--context", "absent"]);
    assert!(
        absent.contains("burstctl: kubeconfig: ") && absent.ends_with("--- exit code 2"),
        "{absent}"
    );
}
