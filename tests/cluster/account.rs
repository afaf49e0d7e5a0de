//! The ServiceAccount of the proxy, and the directory of its files in the pod.

use std::{
    cell::Cell,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    time::Duration,
};

use burst_testkit::{ControlPlane, repository};
use tempfile::TempDir;

/// The account in the role binding of `istio/base/rbac.yaml`.
const GATEWAY: Account = Account {
    namespace: "istio-system",
    name: "istio-ingressgateway",
};

/// The lifetime that the kubelet asks for.
const TOKEN_LIFE: Duration = Duration::from_secs(3607);

/// A ServiceAccount.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    pub(crate) namespace: &'static str,
    pub(crate) name: &'static str,
}

impl Account {
    /// Creates the account, and its namespace if necessary.
    pub(crate) fn create(self, cluster: &ControlPlane) -> Self {
        let Self { namespace, name } = self;
        cluster.apply(&format!(
            "{{apiVersion: v1, kind: Namespace, metadata: {{name: {namespace}}}}}\n---\n\
             {{apiVersion: v1, kind: ServiceAccount, metadata: {{name: {name}, namespace: {namespace}}}}}\n"
        ));
        self
    }

    /// A new token.
    pub(crate) fn token(self, cluster: &ControlPlane) -> String {
        cluster.token(self.name, self.namespace, TOKEN_LIFE)
    }

    /// The account's directory with a new token.
    pub(crate) fn mount(self, cluster: &ControlPlane) -> Mount {
        self.mount_with(cluster, &self.token(cluster))
    }

    /// The account's directory with that token.
    pub(crate) fn mount_with(self, cluster: &ControlPlane, token: &str) -> Mount {
        Mount::new(&cluster.ca_pem(), self.namespace, token)
    }

    /// The user that RBAC sees.
    pub(crate) fn user(self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }
}

/// Runs kubectl with only a token. Returns its output, or its error if it was refused.
pub(crate) fn kubectl_as(cluster: &ControlPlane, token: &str, arguments: &[&str]) -> Result<String, String> {
    let bearer = [
        "--kubeconfig=/dev/null",
        &format!("--server=https://127.0.0.1:{}", cluster.port()),
        &format!("--certificate-authority={}", cluster.ca_file().display()),
        &format!("--token={token}"),
    ];
    cluster.try_kubectl(&[arguments, &bearer].concat(), "")
}

/// Applies the shipped role unchanged, and creates the account in its binding.
pub(crate) fn apply_shipped_role(cluster: &ControlPlane) -> Account {
    let account = GATEWAY.create(cluster);
    cluster.apply(&shipped_role());
    account
}

pub(crate) fn shipped_role() -> String {
    fs::read_to_string(repository().join("istio/base/rbac.yaml")).expect("istio/base/rbac.yaml")
}

/// `/var/run/secrets/kubernetes.io/serviceaccount` as the kubelet lays it out: the files are symbolic links through
/// `..data`, which is itself a link to the newest of several directories. The kubelet replaces it with a rename.
#[derive(Debug)]
pub(crate) struct Mount {
    folder: TempDir,
    ca: String,
    namespace: &'static str,
    versions: Cell<u32>,
}

impl Mount {
    fn new(ca: &str, namespace: &'static str, token: &str) -> Self {
        let mount = Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
            ca: ca.to_owned(),
            namespace,
            versions: Cell::new(0),
        };
        mount.swap(token);
        for file in ["token", "ca.crt", "namespace"] {
            symlink(Path::new("..data").join(file), mount.path().join(file)).expect("a link");
        }
        mount
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// The current token.
    pub(crate) fn token(&self) -> String {
        fs::read_to_string(self.path().join("token")).expect("a token")
    }

    /// Replaces the token atomically.
    pub(crate) fn swap(&self, token: &str) {
        self.versions.set(self.versions.get() + 1);
        let version = format!("..version-{}", self.versions.get());
        let folder = self.folder.path();
        fs::create_dir(folder.join(&version)).expect("a folder");
        for (file, content) in [("token", token), ("ca.crt", &self.ca), ("namespace", self.namespace)] {
            fs::write(folder.join(&version).join(file), content).expect("a file");
        }
        let unfinished = folder.join("..data_tmp");
        symlink(&version, &unfinished).expect("a link");
        fs::rename(unfinished, folder.join("..data")).expect("a link that replaces another");
    }
}
