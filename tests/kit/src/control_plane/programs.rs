//! The programs of a control plane, each with its flags.

use std::{
    fmt::Display,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::json;

use super::{Controllers, SCALE_TO_ZERO, pki::Pki};
use crate::{part::Part, port, process::Process};

/// etcd, and the URL for its clients.
pub(super) fn etcd(folder: &Path) -> (Process, String) {
    let clients = format!("http://127.0.0.1:{}", port::free());
    let peers = format!("http://127.0.0.1:{}", port::free());
    let mut command = Command::new(Part::Etcd.path());
    command
        .arg(flag("data-dir", folder.join("etcd").display()))
        .arg(flag("listen-client-urls", &clients))
        .arg(flag("advertise-client-urls", &clients))
        .arg(flag("listen-peer-urls", &peers))
        .arg(flag("initial-advertise-peer-urls", &peers))
        .arg(flag("initial-cluster", format!("default={peers}")))
        // What a test stores need not outlive it.
        .args(["--unsafe-no-fsync", "--log-level=warn"]);
    (Process::start("etcd", folder, &mut command), clients)
}

/// kube-apiserver with RBAC, TLS, ServiceAccount tokens and the aggregation layer, and more `flags`.
pub(super) fn apiserver(folder: &Path, pki: &Pki, port: u16, etcd: &str, flags: &[String]) -> Process {
    let mut command = Command::new(Part::KubeApiserver.path());
    command
        .arg(flag("etcd-servers", etcd))
        .arg(flag("secure-port", port))
        .arg(flag("cert-dir", folder.display()))
        .arg(flag("tls-cert-file", pki.certificate("apiserver").display()))
        .arg(flag("tls-private-key-file", pki.key("apiserver").display()))
        .arg(flag("client-ca-file", pki.certificate("ca").display()))
        .arg(flag(
            "service-account-key-file",
            pki.public_key("service-account").display(),
        ))
        .arg(flag(
            "service-account-signing-key-file",
            pki.key("service-account").display(),
        ))
        .arg(flag(
            "requestheader-client-ca-file",
            pki.certificate("front-proxy-ca").display(),
        ))
        .arg(flag(
            "proxy-client-cert-file",
            pki.certificate("front-proxy-client").display(),
        ))
        .arg(flag("proxy-client-key-file", pki.key("front-proxy-client").display()))
        .args([
            "--bind-address=127.0.0.1",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.0.0.0/16",
            "--authorization-mode=RBAC",
            "--allow-privileged",
            "--endpoint-reconciler-type=none",
            "--enable-aggregator-routing=true",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-username-headers=X-Remote-User",
        ])
        .args(flags);
    Process::start("kube-apiserver", folder, &mut command)
}

/// kube-controller-manager with the controllers wanted, if any.
pub(super) fn controllers(which: Controllers, folder: &Path, pki: &Pki, port: u16) -> Option<Process> {
    let names = match which {
        Controllers::None => return None,
        Controllers::Autoscaler => "horizontal-pod-autoscaler-controller",
        Controllers::All => "*",
    };
    let mut command = Command::new(Part::KubeControllerManager.path());
    command
        .arg(flag(
            "kubeconfig",
            kubeconfig(folder, pki, port, "controller-manager").display(),
        ))
        .arg(flag("controllers", names))
        .arg(flag(
            "service-account-private-key-file",
            pki.key("service-account").display(),
        ))
        .arg(flag("root-ca-file", pki.certificate("ca").display()))
        .args([
            "--use-service-account-credentials=true",
            "--horizontal-pod-autoscaler-sync-period=2s",
            "--leader-elect=false",
            "--secure-port=0",
            SCALE_TO_ZERO,
        ]);
    Some(Process::start("kube-controller-manager", folder, &mut command))
}

/// A kubeconfig of the user whose certificate has that name. JSON is YAML enough.
pub(super) fn kubeconfig(folder: &Path, pki: &Pki, port: u16, user: &str) -> PathBuf {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": {
            "server": format!("https://127.0.0.1:{port}"),
            "certificate-authority": pki.certificate("ca"),
        }}],
        "users": [{"name": user, "user": {"client-certificate": pki.certificate(user), "client-key": pki.key(user)}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": user, "namespace": "default"}}],
    });
    let path = folder.join(format!("{user}.kubeconfig"));
    fs::write(&path, config.to_string()).expect("a kubeconfig");
    path
}

fn flag(name: &str, value: impl Display) -> String {
    format!("--{name}={value}")
}
