//! The certificates of one control plane. They are made for one test and live as long as it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::authority::{Authority, Credential, key_pair};

/// The names under which clients in a cluster and tests on this machine reach the API server.
const SERVER_NAMES: [&str; 4] = [
    "127.0.0.1",
    "localhost",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

/// The name under which the API server calls an aggregated API.
const FRONT_PROXY_CLIENT: &str = "front-proxy-client";

/// Files of a control plane, as `NAME.crt` and `NAME.key` in one folder.
#[derive(Debug)]
pub(super) struct Pki {
    folder: PathBuf,
    front_proxy: Authority,
}

impl Pki {
    /// Makes every certificate and key in `folder`.
    pub(super) fn create(folder: PathBuf) -> Self {
        let pki = Self {
            folder,
            front_proxy: Authority::new("front-proxy-ca"),
        };
        let ca = Authority::new("ca");
        pki.keep_authority("ca", &ca);
        pki.keep_authority("front-proxy-ca", &pki.front_proxy);
        pki.keep("apiserver", &ca.server("kube-apiserver", &SERVER_NAMES));
        pki.keep("admin", &ca.client("kubernetes-admin", Some("system:masters")));
        pki.keep("controller-manager", &ca.client("system:kube-controller-manager", None));
        pki.keep(FRONT_PROXY_CLIENT, &pki.front_proxy.client(FRONT_PROXY_CLIENT, None));
        pki.write_key_pair("service-account");
        pki
    }

    /// The authority of the certificate with which the API server calls an aggregated API.
    pub(super) fn front_proxy(&self) -> &Authority {
        &self.front_proxy
    }

    /// Has the API server call aggregated APIs with a certificate of another authority, and tell of `trusted`.
    pub(super) fn renew_front_proxy(&self, signer: &Authority, trusted: &[&Authority]) {
        let bundle: String = trusted.iter().map(|authority| authority.pem()).collect();
        write(&self.certificate("front-proxy-ca"), &bundle);
        self.keep(FRONT_PROXY_CLIENT, &signer.client(FRONT_PROXY_CLIENT, None));
    }

    pub(super) fn certificate(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.crt"))
    }

    pub(super) fn key(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.key"))
    }

    /// The public half of the key that signs ServiceAccount tokens.
    pub(super) fn public_key(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.pub"))
    }

    fn keep_authority(&self, name: &str, authority: &Authority) {
        write(&self.certificate(name), &authority.pem());
        write(&self.key(name), &authority.key());
    }

    fn keep(&self, name: &str, Credential { certificate, key }: &Credential) {
        write(&self.certificate(name), certificate);
        write(&self.key(name), key);
    }

    fn write_key_pair(&self, name: &str) {
        let key = key_pair();
        write(&self.key(name), &key.serialize_pem());
        write(&self.public_key(name), &key.public_key_pem());
    }
}

fn write(path: &Path, pem: &str) {
    fs::write(path, pem).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
}
