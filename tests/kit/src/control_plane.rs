//! A real Kubernetes control plane on 127.0.0.1: etcd, kube-apiserver and, where asked for, kube-controller-manager.
//!
//! It has no nodes. With [`Controllers::Autoscaler`] a Deployment stays an object and never turns into pods.

mod kubectl;
mod pki;
mod programs;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use tempfile::TempDir;

use self::{
    kubectl::{Kubectl, text},
    pki::Pki,
};
use crate::{
    authority::{Authority, Credential},
    http::{Answer, Tls},
    port,
    process::Process,
    wait::{self, NotYet},
};

/// An API server starts in 4 s on a machine with nothing else to do; tests share theirs with builds.
const START: Duration = Duration::from_secs(300);

/// Allows an HPA to scale to zero; a feature gate of the API server and of the controller.
const SCALE_TO_ZERO: &str = "--feature-gates=HPAScaleToZero=true";

/// Compacts the store every 5 s.
const FORGETFUL: &str = "--etcd-compaction-interval=5s";

/// An address of no machine. Without one, an API server looks for an address of the machine's network, and there may be no
/// network. <https://www.rfc-editor.org/rfc/rfc5737>
const ADVERTISED: &str = "--advertise-address=192.0.2.1";

/// Which controllers run beside the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controllers {
    /// None: objects keep the status that the test gave them.
    None,
    /// Only the one for HorizontalPodAutoscalers, which runs every 2 s.
    Autoscaler,
    /// All of them, the same interval.
    All,
}

/// A running control plane; dropping it ends all its processes.
// Fields are dropped in their order: clients first, so that none of them logs that its server has gone.
#[derive(Debug)]
pub struct ControlPlane {
    controllers: Option<Process>,
    /// `None` where it was killed.
    apiserver: Option<Process>,
    flags: Vec<String>,
    _etcd: Process,
    etcd_url: String,
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
        Self::start_apiserver(&[])
    }

    /// The same with `controllers`.
    ///
    /// # Panics
    /// When the API server is not ready in time.
    #[must_use]
    #[track_caller]
    pub fn start_with(controllers: Controllers) -> Self {
        let mut started = Self::start();
        started.start_controllers(controllers);
        started
    }

    /// The same as [`ControlPlane::start`] with an API server that compacts its store every 5 s, not every 5 min: a
    /// `continue` token is soon too old for it, and lasts for the next page.
    ///
    /// # Panics
    /// When the API server is not ready in time.
    #[must_use]
    #[track_caller]
    pub fn start_forgetful() -> Self {
        Self::start_apiserver(&[FORGETFUL])
    }

    /// The same as [`ControlPlane::start_forgetful`], and the API server reads watches of HPAs from its store: a watch from
    /// a version that is compacted fails. A watch cache would remember more.
    ///
    /// # Panics
    /// When the API server is not ready in time.
    #[must_use]
    #[track_caller]
    pub fn start_forgetful_of_hpas() -> Self {
        Self::start_apiserver(&[FORGETFUL, "--watch-cache-sizes=horizontalpodautoscalers.autoscaling#0"])
    }

    /// The same as [`ControlPlane::start`] with an API server that takes the external name of a Service for the server
    /// of an aggregated API, so that one on 127.0.0.1 can be that, and with the gate for HPAs of no replicas.
    ///
    /// # Panics
    /// When the API server is not ready in time.
    #[must_use]
    #[track_caller]
    pub fn start_aggregating() -> Self {
        Self::start_apiserver(&["--enable-aggregator-routing=false", SCALE_TO_ZERO, ADVERTISED])
    }

    #[track_caller]
    fn start_apiserver(flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let pki = Pki::create(folder.path().to_owned());
        let (etcd, etcd_url) = programs::etcd(folder.path());
        let port = port::free();
        let kubectl = Kubectl::new(&programs::kubeconfig(folder.path(), &pki, port, "admin"), folder.path());
        let mut started = Self {
            controllers: None,
            apiserver: None,
            flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            _etcd: etcd,
            etcd_url,
            kubectl,
            pki,
            port,
            folder,
        };
        started.restart_apiserver();
        started
    }

    /// Kills the API server, as `kill -9` does. Its objects are still in etcd.
    pub fn kill_apiserver(&mut self) {
        self.apiserver = None;
    }

    /// Starts the API server again, and waits until it is ready; a running one is killed first.
    ///
    /// # Panics
    /// When it is not ready in time.
    #[track_caller]
    pub fn restart_apiserver(&mut self) {
        self.kill_apiserver();
        let (folder, pki) = (self.folder.path(), &self.pki);
        let apiserver = programs::apiserver(folder, pki, self.port, &self.etcd_url, &self.flags);
        self.wait_until_ready(apiserver);
    }

    /// Starts the API server again with other flags than before, such as a feature gate.
    ///
    /// # Panics
    /// When it is not ready in time.
    #[track_caller]
    pub fn restart_apiserver_with(&mut self, flags: &[&str]) {
        self.flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        self.restart_apiserver();
    }

    /// Starts controllers beside the API server; those that ran before are ended.
    ///
    /// # Panics
    /// When they cannot be started.
    #[track_caller]
    pub fn start_controllers(&mut self, controllers: Controllers) {
        self.controllers = programs::controllers(controllers, self.folder.path(), &self.pki, self.port);
    }

    /// Where the API server listens with TLS on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process id of the API server.
    ///
    /// # Panics
    /// When it was killed.
    #[must_use]
    #[track_caller]
    pub fn apiserver_id(&self) -> u32 {
        self.apiserver.as_ref().expect("an API server that runs").id()
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

    /// The authority of the certificate with which the API server calls an aggregated API, until it is renewed.
    #[must_use]
    pub fn front_proxy(&self) -> &Authority {
        self.pki.front_proxy()
    }

    /// Gives the API server, as it runs, another certificate to call aggregated APIs with, and other authorities to
    /// name in the ConfigMap `extension-apiserver-authentication`.
    ///
    /// # Panics
    /// When a file cannot be written.
    pub fn renew_front_proxy(&self, signer: &Authority, trusted: &[&Authority]) {
        self.pki.renew_front_proxy(signer, trusted);
    }

    /// The certificates of that authority as a file.
    #[must_use]
    pub fn front_proxy_ca_file(&self) -> PathBuf {
        self.pki.certificate("front-proxy-ca")
    }

    /// The administrator's kubeconfig, for other clients.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.kubectl.kubeconfig().to_owned()
    }

    /// Starts `kubectl proxy` on that port of 127.0.0.1: it serves the API without TLS, to any client as an administrator.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    #[track_caller]
    pub fn kubectl_proxy(&self, port: u16) -> Process {
        let mut command = self.kubectl.command();
        command.args(["proxy", "--port", &port.to_string()]);
        Process::start("kubectl-proxy", self.folder.path(), &mut command)
    }

    /// Runs kubectl as an administrator and returns its output.
    ///
    /// # Panics
    /// When it fails, with its error message.
    #[track_caller]
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        self.kubectl_with(arguments, "")
    }

    /// The same with `input` on standard input, for `-f -`.
    ///
    /// # Panics
    /// When it fails, with its error message.
    #[track_caller]
    pub fn kubectl_with(&self, arguments: &[&str], input: &str) -> String {
        self.try_kubectl(arguments, input)
            .unwrap_or_else(|said| panic!("kubectl {}: {said}", arguments.join(" ")))
    }

    /// Runs kubectl, which has to be refused, and returns its error message.
    ///
    /// # Panics
    /// When it succeeds.
    #[track_caller]
    pub fn kubectl_refused(&self, arguments: &[&str], input: &str) -> String {
        match self.try_kubectl(arguments, input) {
            Ok(printed) => panic!("kubectl {} succeeded: {printed}", arguments.join(" ")),
            Err(said) => said,
        }
    }

    /// Runs kubectl, which may be refused.
    ///
    /// # Errors
    /// Its error message.
    pub fn try_kubectl(&self, arguments: &[&str], input: &str) -> Result<String, String> {
        let output = self.kubectl.run(arguments, input);
        if output.status.success() {
            Ok(text(&output.stdout))
        } else {
            Err(text(&output.stderr))
        }
    }

    /// `kubectl apply` of one or several YAML or JSON documents.
    ///
    /// # Panics
    /// When it fails, with its error message.
    #[track_caller]
    pub fn apply(&self, manifest: &str) -> String {
        self.kubectl_with(&["apply", "-f", "-"], manifest)
    }

    /// Waits until objects of every kind that a CustomResourceDefinition defines can be created.
    ///
    /// # Panics
    /// When that is not so in time.
    #[track_caller]
    pub fn wait_for_crds(&self) {
        self.kubectl(&["wait", "--for=condition=Established", "crd", "--all", "--timeout=120s"]);
        let names = "--output=jsonpath={range .items[*]}{.metadata.name}{'\\n'}{end}";
        let defined = self.kubectl(&["get", "crd", names]);
        // An API server lists a kind, which is where kubectl looks for it, only after it has called it established.
        wait::for_ok(START, "every kind among the resources", || {
            let listed = self.try_kubectl(&["api-resources", "--output=name", "--cached=false"], "")?;
            let is_listed = |name: &&str| listed.lines().any(|line| line == *name);
            match defined.lines().find(|name| !is_listed(name)) {
                None => Ok(()),
                Some(name) => Err(format!("{name} is not in\n{listed}")),
            }
        });
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

    /// The log of the API server since its last start.
    #[must_use]
    pub fn apiserver_log(&self) -> String {
        self.apiserver.as_ref().map(Process::log).unwrap_or_default()
    }

    /// The log of the controllers; empty where none was started.
    #[must_use]
    pub fn controllers_log(&self) -> String {
        self.controllers.as_ref().map(Process::log).unwrap_or_default()
    }

    #[track_caller]
    fn wait_until_ready(&mut self, apiserver: Process) {
        let admin = Credential {
            certificate: read(&self.pki.certificate("admin")),
            key: read(&self.pki.key("admin")),
        };
        // No kubectl: to start it again and again takes more of the machine than the API server needs to start.
        let client = Tls::trusting(&self.ca_pem(), Some(&admin));
        let apiserver = self.apiserver.insert(apiserver);
        // The hooks that make them end after /readyz says yes: what a test creates is in some namespace, and what it lists
        // has that Service in it.
        for what in [
            "/readyz?verbose",
            "/api/v1/namespaces/default",
            "/api/v1/namespaces/default/services/kubernetes",
        ] {
            let url = format!("https://127.0.0.1:{}{what}", self.port);
            apiserver.wait_for(START, what, || match client.try_send("GET", &url, &[]) {
                Ok(Answer { status: 200, .. }) => Ok(()),
                Ok(Answer { body, .. }) => Err(NotYet(body)),
                Err(error) => Err(NotYet(error.to_string())),
            });
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}
