//! The certificates of a mesh.

use std::{
    fs,
    path::{Path, PathBuf},
};

use burst_testkit::{self as kit, Credential};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A certificate authority. Its files exist as long as it does.
pub(crate) struct Authority {
    folder: TempDir,
    issuer: kit::Authority,
}

/// The certificate of a workload, and its key.
pub(crate) struct Identity {
    pub(crate) chain: PathBuf,
    pub(crate) key: PathBuf,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let issuer = kit::Authority::new("the mesh");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let authority = Self { folder, issuer };
        fs::write(authority.root(), authority.issuer.pem()).expect("a file");
        authority
    }

    /// The authority's own certificate.
    pub(crate) fn root(&self) -> PathBuf {
        self.path("root.crt")
    }

    /// Issues a certificate for the workloads with that ServiceAccount.
    pub(crate) fn certify(&self, namespace: &str, account: &str) -> Identity {
        let name = format!("spiffe://cluster.local/ns/{namespace}/sa/{account}");
        let Credential { certificate, key } = self.issuer.peer(account, &name);
        let path = |end| self.path(format!("{account}.{end}"));
        fs::write(path("crt"), certificate).expect("a file");
        fs::write(path("key"), key).expect("a file");
        Identity {
            chain: path("crt"),
            key: path("key"),
        }
    }

    /// The configuration of an Envoy transport socket that speaks mutual TLS as that workload.
    pub(crate) fn tls(&self, Identity { chain, key }: &Identity, protocol: &str) -> Value {
        json!({
            "alpn_protocols": [protocol],
            // A waypoint accepts no lower version.
            "tls_params": {"tls_maximum_protocol_version": "TLSv1_3"},
            "tls_certificates": [{"certificate_chain": {"filename": chain}, "private_key": {"filename": key}}],
            "validation_context": {"trusted_ca": {"filename": self.root()}},
        })
    }

    fn path(&self, file: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(file)
    }
}
