//! A kubeconfig for a server that a test runs itself.

use std::fs;

use serde_json::json;
use tempfile::TempDir;

/// Writes a folder with a `kubeconfig` whose current context, `one`, is the cluster at `server`.
pub(crate) fn kubeconfig(server: &str) -> TempDir {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "one",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "one", "context": {"cluster": "c", "user": "u"}}],
    });
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("kubeconfig"), config.to_string()).unwrap();
    folder
}
