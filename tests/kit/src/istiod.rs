//! A real Istio control plane on 127.0.0.1, and the bootstraps of Envoys that take their configuration from it.
//!
//! It neither injects sidecars, because there are no pods, nor signs certificates. The proxies connect in plain text, or with TLS
//! where they have to authenticate.

mod node;

use std::{fs, path::Path, process::Command, time::Duration};

use tempfile::TempDir;

pub use self::node::Node;
use crate::{
    ControlPlane,
    authority::{Authority, Credential},
    http::{self, Answer},
    part::Part,
    port,
    process::Process,
    wait::NotYet,
};

/// istiod reads the whole cluster before it is ready: 5 s on an idle machine.
const START: Duration = Duration::from_secs(300);

/// What needs certificates, Prometheus or pods is off.
const MESH: &str = "\
enableAutoMtls: false
enablePrometheusMerge: false
defaultProviders: {}
accessLogFile: /dev/null
";

const ENVIRONMENT: [(&str, &str); 10] = [
    ("POD_NAME", "istiod-0"),
    ("POD_NAMESPACE", "istio-system"),
    ("CLUSTER_ID", "Kubernetes"),
    ("PILOT_ENABLE_ALPN_FILTER", "false"),
    ("PILOT_ENABLE_METADATA_EXCHANGE", "false"),
    ("PILOT_ENABLE_GATEWAY_API_DEPLOYMENT_CONTROLLER", "false"),
    ("ENABLE_CA_SERVER", "false"),
    ("ENABLE_LEADER_ELECTION", "false"),
    ("VALIDATION_WEBHOOK_CONFIG_NAME", ""),
    ("INJECTION_WEBHOOK_CONFIG_NAME", ""),
];

/// A running istiod; it is gone when this is dropped.
#[derive(Debug)]
pub struct Istiod {
    process: Process,
    authority: Authority,
    grpc: u16,
    secure_grpc: u16,
    http: u16,
    inbound: u16,
    _folder: TempDir,
}

impl Istiod {
    /// Creates Istio's and the Gateway API's CRDs in `cluster` and the namespace `istio-system`, starts istiod and
    /// waits until it is ready.
    ///
    /// # Panics
    /// When it is not ready in time.
    #[must_use]
    #[track_caller]
    pub fn start(cluster: &ControlPlane) -> Self {
        Self::start_with(cluster, &[])
    }

    /// The same with more of istiod's environment variables, as `("PILOT_ENABLE_AMBIENT", "true")`.
    ///
    /// # Panics
    /// When it is not ready in time.
    #[must_use]
    #[track_caller]
    pub fn start_with(cluster: &ControlPlane, environment: &[(&str, &str)]) -> Self {
        Self::create_crds(cluster);
        cluster.apply("{apiVersion: v1, kind: Namespace, metadata: {name: istio-system}}");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mesh = folder.path().join("mesh.yaml");
        let [grpc, secure_grpc, http, monitoring, inbound, outbound] = std::array::from_fn(|_| port::free());
        let ports = format!("proxyInboundListenPort: {inbound}\nproxyListenPort: {outbound}\n");
        fs::write(&mesh, format!("{MESH}{ports}")).expect("a file");
        let authority = Authority::new("istiod-ca");
        let mut command = Command::new(Part::PilotDiscovery.path());
        command
            .arg("discovery")
            .arg("--kubeconfig")
            .arg(cluster.kubeconfig())
            .arg("--meshConfig")
            .arg(&mesh)
            .args(["--grpcAddr", &format!("127.0.0.1:{grpc}")])
            .args(["--httpAddr", &format!("127.0.0.1:{http}")])
            .args(["--monitoringAddr", &format!("127.0.0.1:{monitoring}")])
            .args(["--secureGRPCAddr", &format!("127.0.0.1:{secure_grpc}")])
            .args(["--httpsAddr", "", "--ctrlz_port", "0"])
            .args(certificates(folder.path(), &authority))
            .args(["--domain", "cluster.local", "--shutdownDuration", "0s"])
            .envs(ENVIRONMENT)
            .envs(environment.iter().copied());
        let mut process = Process::start("istiod", folder.path(), &mut command);
        process.wait_for(START, "istiod is ready", || ready(http));
        Self {
            process,
            authority,
            grpc,
            secure_grpc,
            http,
            inbound,
            _folder: folder,
        }
    }

    /// Creates Istio's and the Gateway API's CRDs in `cluster`, as [`Istiod::start`] does by itself.
    ///
    /// # Panics
    /// When the API server refuses one.
    #[track_caller]
    pub fn create_crds(cluster: &ControlPlane) {
        let crds = Part::PilotDiscovery.path().with_file_name("crds");
        let folder = crds.to_str().expect("a path that is text");
        // Some are too large for the annotation that the other kind of apply leaves.
        cluster.kubectl(&["apply", "--server-side", "--filename", folder]);
        cluster.wait_for_crds();
    }

    /// The bootstrap of an Envoy that is this node, for [`crate::EnvoyBuilder::start`].
    #[must_use]
    pub fn bootstrap(&self, node: &Node) -> String {
        node::bootstrap(node, self.grpc)
    }

    /// The same for a node with this token of its ServiceAccount, made for the audience `istio-ca`: istiod sends Secrets only to
    /// nodes with such a token.
    #[must_use]
    pub fn bootstrap_with_token(&self, node: &Node, token: &str) -> String {
        node::secure_bootstrap(node, self.secure_grpc, &self.authority, token)
    }

    /// The port on which an intercepting sidecar takes what comes in; 15006 in a mesh.
    #[must_use]
    pub fn inbound(&self) -> u16 {
        self.inbound
    }

    /// GETs a path of the debug interface, as `/debug/syncz`.
    ///
    /// # Panics
    /// When there is no answer.
    #[must_use]
    #[track_caller]
    pub fn debug(&self, path: &str) -> Answer {
        http::get(&format!("http://127.0.0.1:{}{path}", self.http))
    }

    /// What it wrote so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.process.log()
    }
}

/// The flags for istiod's own certificate.
fn certificates(folder: &Path, authority: &Authority) -> [String; 3] {
    let Credential { certificate, key } = authority.server("istiod", &["127.0.0.1"]);
    let file = |flag: &str, name: &str, pem: &str| {
        let path = folder.join(name);
        fs::write(&path, pem).expect("a file");
        format!("--{flag}={}", path.display())
    };
    [
        file("caCertFile", "ca.crt", &authority.pem()),
        file("tlsCertFile", "tls.crt", &certificate),
        file("tlsKeyFile", "tls.key", &key),
    ]
}

fn ready(port: u16) -> Result<(), NotYet> {
    let answer = http::try_send("GET", &format!("http://127.0.0.1:{port}/ready"), &[]);
    match answer.map_err(|error| NotYet(error.to_string()))? {
        Answer { status: 200, .. } => Ok(()),
        Answer { status, body, .. } => Err(NotYet(format!("{status} {body}"))),
    }
}
