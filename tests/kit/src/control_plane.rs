//! A real Kubernetes control plane on 127.0.0.1: etcd, kube-apiserver and, where asked for, kube-controller-manager.
//!
//! It has no nodes. With [`Controllers::Autoscaler`] a Deployment stays an object and never turns into pods.

mod kubectl;
mod pki;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use serde_json::json;
use tempfile::TempDir;

use self::{
    kubectl::{Kubectl, text},
    pki::Pki,
};
use crate::{part::Part, port, process::Process, wait::NotYet};

/// An API server starts in 4 s on a machine with nothing else to do; tests share theirs with builds.
const START: Duration = Duration::from_secs(120);

/// Which controllers run beside the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controllers {
    /// None: objects keep the status that the test gave them.
    None,
    /// Only the one for HorizontalPodAutoscalers, which looks every 2 s.
    Autoscaler,
    /// All of them, the same interval.
    All,
}

/// A running control plane; everything of it is gone when this is dropped.
// Fields are dropped in their order: clients first, so that none of them logs that its server has gone.
#[derive(Debug)]
pub struct ControlPlane {
    _controllers: Option<Process>,
    apiserver: Process,
    _etcd: Process,
    kubectl: Kubectl,
    pki: Pki,
    port: u16,
    folder: TempDir,
}

impl ControlPlane {
    /// Starts etcd and an API server with RBAC and the aggregation layer, and waits until it is ready.
    ///
    /// # Panics
    /// When it is not ready in time.
    #[must_use]
    #[track_caller]
    pub fn start() -> Self {
        Self::start_with(Controllers::None)
    }

    /// The same with `controllers`.
    ///
    /// # Panics
    /// When the API server is not ready in time.
    #[must_use]
    #[track_caller]
    pub fn start_with(controllers: Controllers) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let pki = Pki::create(folder.path().to_owned());
        let (etcd, etcd_url) = start_etcd(folder.path());
        let port = port::free();
        let apiserver = start_apiserver(folder.path(), &pki, port, &etcd_url);
        let kubectl = Kubectl::new(&kubeconfig(folder.path(), &pki, port, "admin"), folder.path());
        let mut started = Self {
            _controllers: None,
            apiserver,
            _etcd: etcd,
            kubectl,
            pki,
            port,
            folder,
        };
        started.wait_until_ready();
        started._controllers = started.start_controllers(controllers);
        started
    }

    /// Where the API server listens with TLS on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The certificate authority of the API server's certificate, which is good for `127.0.0.1`, `localhost`,
    /// `kubernetes.default.svc` and `kubernetes.default.svc.cluster.local`.
    #[must_use]
    pub fn ca_pem(&self) -> String {
        read(&self.pki.certificate("ca"))
    }

    /// The same as a file, for a proxy's configuration.
    #[must_use]
    pub fn ca_file(&self) -> PathBuf {
        self.pki.certificate("ca")
    }

    /// The authority of the certificate with which the API server calls an aggregated API.
    #[must_use]
    pub fn front_proxy_ca_file(&self) -> PathBuf {
        self.pki.certificate("front-proxy-ca")
    }

    /// The administrator's kubeconfig, for other clients.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.kubectl.kubeconfig().to_owned()
    }

    /// Runs kubectl as an administrator and gives what it printed.
    ///
    /// # Panics
    /// When it fails, with what it said.
    #[track_caller]
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        self.kubectl_with(arguments, "")
    }

    /// The same with `input` on standard input, for `-f -`.
    ///
    /// # Panics
    /// When it fails, with what it said.
    #[track_caller]
    pub fn kubectl_with(&self, arguments: &[&str], input: &str) -> String {
        let output = self.kubectl.run(arguments, input);
        assert!(
            output.status.success(),
            "kubectl {}: {}",
            arguments.join(" "),
            text(&output.stderr)
        );
        text(&output.stdout)
    }

    /// Runs kubectl where it has to be refused, and gives what it said on standard error.
    ///
    /// # Panics
    /// When it succeeds.
    #[track_caller]
    pub fn kubectl_refused(&self, arguments: &[&str], input: &str) -> String {
        let output = self.kubectl.run(arguments, input);
        assert!(
            !output.status.success(),
            "kubectl {} succeeded: {}",
            arguments.join(" "),
            text(&output.stdout)
        );
        text(&output.stderr)
    }

    /// `kubectl apply` of one or several YAML or JSON documents.
    ///
    /// # Panics
    /// When it fails, with what it said.
    #[track_caller]
    pub fn apply(&self, manifest: &str) -> String {
        self.kubectl_with(&["apply", "-f", "-"], manifest)
    }

    /// A new token of a ServiceAccount, good for `duration`; the API server gives none for less than 10 minutes.
    ///
    /// # Panics
    /// When there is no such ServiceAccount.
    #[must_use]
    #[track_caller]
    pub fn token(&self, service_account: &str, namespace: &str, duration: Duration) -> String {
        let duration = format!("--duration={}s", duration.as_secs());
        let token = self.kubectl(&["create", "token", service_account, "--namespace", namespace, &duration]);
        token.trim_end().to_owned()
    }

    /// What the API server wrote so far.
    #[must_use]
    pub fn apiserver_log(&self) -> String {
        self.apiserver.log()
    }

    fn wait_until_ready(&mut self) {
        // The hook that makes the namespace ends after /readyz says yes, and what a test creates is in some namespace.
        for what in ["/readyz?verbose", "/api/v1/namespaces/default"] {
            let kubectl = &self.kubectl;
            self.apiserver.wait_for(START, what, || {
                let output = kubectl.run(&["get", "--raw", what], "");
                if output.status.success() {
                    Ok(())
                } else {
                    Err(NotYet(text(&output.stderr)))
                }
            });
        }
    }

    fn start_controllers(&self, controllers: Controllers) -> Option<Process> {
        let which = match controllers {
            Controllers::None => return None,
            Controllers::Autoscaler => "horizontal-pod-autoscaler-controller",
            Controllers::All => "*",
        };
        let kubeconfig = kubeconfig(self.folder.path(), &self.pki, self.port, "controller-manager");
        let mut command = Command::new(Part::KubeControllerManager.path());
        command
            .arg(flag("kubeconfig", kubeconfig.display()))
            .arg(flag("controllers", which))
            .arg(flag(
                "service-account-private-key-file",
                self.pki.key("service-account").display(),
            ))
            .arg(flag("root-ca-file", self.ca_file().display()))
            .args([
                "--use-service-account-credentials=true",
                "--horizontal-pod-autoscaler-sync-period=2s",
                "--leader-elect=false",
                "--secure-port=0",
            ]);
        Some(Process::start(
            "kube-controller-manager",
            self.folder.path(),
            &mut command,
        ))
    }
}

fn start_etcd(folder: &Path) -> (Process, String) {
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

fn start_apiserver(folder: &Path, pki: &Pki, port: u16, etcd: &str) -> Process {
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
        ]);
    Process::start("kube-apiserver", folder, &mut command)
}

/// A kubeconfig of the user whose certificate has that name. JSON is YAML enough.
fn kubeconfig(folder: &Path, pki: &Pki, port: u16, user: &str) -> PathBuf {
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

fn flag(name: &str, value: impl std::fmt::Display) -> String {
    format!("--{name}={value}")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}
