//! A kubeconfig of a ServiceAccount, to run commands with few rights.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use burst_testkit::ControlPlane;
use tempfile::TempDir;

/// A kubeconfig file. Dropping it removes the file.
pub(crate) struct Kubeconfig(TempDir);

impl Kubeconfig {
    /// Writes the kubeconfig of a ServiceAccount in `default`. Its only context has the name of the account.
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
