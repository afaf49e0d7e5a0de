//! An ingress gateway with the filter, as Istio would run it but without istiod: the manifests of `istio/`, pods, and
//! an Envoy.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use burst_testkit::{ControlPlane, Envoy, Istiod, Version, repository, wasm};
use tempfile::TempDir;

use super::kubelet::Kubelet;

/// The folder in a pod with the files of its ServiceAccount.
const MOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// A gateway pod on the node, and the objects that the filter reads.
const OBJECTS: &str = include_str!("../../data/gateway-pod.yaml");

/// A cluster with a gateway, and the Envoy that its pod forwards to.
pub(crate) struct Gateway {
    pub(crate) cluster: ControlPlane,
    pub(crate) envoy: Envoy,
    _kubelet: Kubelet,
    _account: TempDir,
}

impl Gateway {
    /// Starts a cluster without the filter's manifests.
    pub(crate) fn bare() -> ControlPlane {
        let cluster = ControlPlane::start();
        Istiod::create_crds(&cluster);
        cluster.kubectl(&["create", "namespace", "istio-system"]);
        cluster
    }

    /// Installs the manifests of the ingress gateway and one gateway pod, and starts an Envoy that runs the filter as that pod would.
    pub(crate) fn installed(cluster: ControlPlane, version: Version) -> Self {
        let set = repository().join("istio/gateway");
        cluster.kubectl(&["apply", "--kustomize", set.to_str().unwrap()]);
        cluster.kubectl(&[
            "create",
            "serviceaccount",
            "istio-ingressgateway",
            "--namespace=istio-system",
        ]);
        let account = tempfile::tempdir().unwrap();
        let token = cluster.token("istio-ingressgateway", "istio-system", Duration::from_secs(3600));
        fs::write(account.path().join("token"), token).unwrap();
        fs::write(account.path().join("ca.crt"), cluster.ca_pem()).unwrap();
        let envoy = Envoy::start(version, &bootstrap(&cluster, &account), 1);
        let admin: SocketAddr = envoy.admin_url("").trim_start_matches("http://").parse().unwrap();
        let kubelet = Kubelet::start(admin);
        let objects = OBJECTS.replace("10250", &kubelet.port.to_string());
        cluster.apply(&objects);
        let status = [
            "apply",
            "--server-side",
            "--force-conflicts",
            "--subresource=status",
            "--filename=-",
        ];
        cluster.kubectl_with(&status, &objects);
        Self {
            cluster,
            envoy,
            _kubelet: kubelet,
            _account: account,
        }
    }

    pub(crate) fn doctor(&self, args: &[&str]) -> CommandOutput {
        doctor(&self.cluster.kubeconfig(), args)
    }
}

/// A shipped bootstrap that polls every second. The timeouts are long, because `doctor` would report a poll that fails
/// on a busy machine.
fn bootstrap(cluster: &ControlPlane, account: &TempDir) -> String {
    let shipped = fs::read_to_string(repository().join("filter-config/03-token-by-lua.yaml")).unwrap();
    [
        (
            "target/wasm/burst-metrics.wasm",
            wasm("burst-metrics.wasm").display().to_string(),
        ),
        (MOUNT, account.path().display().to_string()),
        (
            "address: kubernetes.default.svc.cluster.local, port_value: 443",
            format!("address: 127.0.0.1, port_value: {}", cluster.port()),
        ),
        ("port_value: 8080", "port_value: 0".to_owned()),
        (
            r#""cluster": "kube_api""#,
            r#""cluster": "kube_api", "sync": {"mode": "list"}, "poll_interval": "1s", "request_timeout": "60s""#
                .to_owned(),
        ),
    ]
    .iter()
    .fold(shipped, |text, (shipped, here)| {
        assert!(text.contains(shipped), "{shipped}");
        text.replace(shipped, here)
    })
}

/// The output of a command.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) text: String,
    pub(crate) code: Option<i32>,
}

impl CommandOutput {
    fn of(output: &Output) -> Self {
        let text = [&output.stdout[..], &output.stderr].concat();
        Self {
            text: String::from_utf8(text).unwrap(),
            code: output.status.code(),
        }
    }

    /// Returns the lines about one check, including the advice.
    #[track_caller]
    pub(crate) fn check(&self, about: &str) -> String {
        self.find(about)
            .unwrap_or_else(|| panic!("no check {about} in\n{}", self.text))
    }

    /// Like `check`, but returns `None` if there are no such lines yet.
    pub(crate) fn find(&self, about: &str) -> Option<String> {
        let mut lines = self.text.lines();
        let line = lines.find(|line| line.split_whitespace().nth(1) == Some(about))?;
        let advice = lines.next().filter(|line| line.starts_with("         what to do: "));
        let single_spaced = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let found: Vec<_> = [Some(line), advice].into_iter().flatten().map(single_spaced).collect();
        Some(found.join("\n"))
    }
}

pub(crate) fn doctor(kubeconfig: &Path, args: &[&str]) -> CommandOutput {
    let mut command = Command::new(env!("CARGO_BIN_EXE_burstctl"));
    command.arg("doctor").args(args).env("KUBECONFIG", kubeconfig);
    CommandOutput::of(&command.output().unwrap())
}

/// Runs `doctor` without a kubeconfig.
pub(crate) fn doctor_without_cluster(args: &[&str]) -> CommandOutput {
    let mut command = Command::new(env!("CARGO_BIN_EXE_burstctl"));
    CommandOutput::of(&command.arg("doctor").args(args).output().unwrap())
}
