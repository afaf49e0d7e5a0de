//! A kubeconfig of a ServiceAccount, for commands whose user has few rights.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use burst_testkit::ControlPlane;
use tempfile::TempDir;

/// It is gone with this.
pub(crate) struct Kubeconfig(TempDir);

impl Kubeconfig {
    /// That of a ServiceAccount in `default`, with one context that has its name.
    pub(crate) fn of(cluster: &ControlPlane, account: &str) -> Self {
        let token = cluster.token(account, "default", Duration::from_secs(600));
        let (port, ca) = (cluster.port(), cluster.ca_file());
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: {account}\nclusters:\n- name: here\n  cluster: {{server: \
             'https://127.0.0.1:{port}', certificate-authority: {}}}\nusers:\n- {{name: {account}, user: {{token: \
             {token}}}}}\ncontexts:\n- {{name: {account}, context: {{cluster: here, user: {account}}}}}\n",
            ca.display(),
        );
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("kubeconfig"), text).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().join("kubeconfig")
    }
}
