//! The certificates of one control plane. They are made for one test and live as long as it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};

/// The names under which clients in a cluster and tests on this machine reach the API server.
const SERVER_NAMES: [&str; 4] = [
    "127.0.0.1",
    "localhost",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

/// Files of a control plane, as `NAME.crt` and `NAME.key` in one folder.
#[derive(Debug)]
pub(super) struct Pki {
    folder: PathBuf,
}

impl Pki {
    /// Makes every certificate and key in `folder`.
    pub(super) fn create(folder: PathBuf) -> Self {
        let pki = Self { folder };
        let ca = pki.authority("ca");
        let front_proxy_ca = pki.authority("front-proxy-ca");
        pki.leaf("apiserver", &ca, &server());
        pki.leaf("admin", &ca, &client("kubernetes-admin", Some("system:masters")));
        pki.leaf(
            "controller-manager",
            &ca,
            &client("system:kube-controller-manager", None),
        );
        pki.leaf(
            "front-proxy-client",
            &front_proxy_ca,
            &client("front-proxy-client", None),
        );
        pki.write_key_pair("service-account");
        pki
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

    fn authority(&self, name: &str) -> CertifiedIssuer<'static, KeyPair> {
        let mut params = named(name, None);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let issuer = CertifiedIssuer::self_signed(params, key_pair()).expect("a self-signed certificate");
        write(&self.certificate(name), &issuer.pem());
        write(&self.key(name), &issuer.key().serialize_pem());
        issuer
    }

    fn leaf(&self, name: &str, issuer: &CertifiedIssuer<'_, KeyPair>, params: &CertificateParams) {
        let key = key_pair();
        let certificate = params.signed_by(&key, issuer).expect("a signed certificate");
        write(&self.certificate(name), &certificate.pem());
        write(&self.key(name), &key.serialize_pem());
    }

    fn write_key_pair(&self, name: &str) {
        let key = key_pair();
        write(&self.key(name), &key.serialize_pem());
        write(&self.public_key(name), &key.public_key_pem());
    }
}

fn server() -> CertificateParams {
    let names = SERVER_NAMES.map(str::to_owned);
    let mut params = CertificateParams::new(names).expect("valid server names");
    params.distinguished_name = named("kube-apiserver", None).distinguished_name;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params
}

/// Kubernetes takes the common name for the user and the organization for a group.
fn client(user: &str, group: Option<&str>) -> CertificateParams {
    let mut params = named(user, group);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params
}

fn named(common_name: &str, organization: Option<&str>) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    if let Some(organization) = organization {
        params.distinguished_name.push(DnType::OrganizationName, organization);
    }
    params
}

fn key_pair() -> KeyPair {
    KeyPair::generate().expect("a key pair")
}

fn write(path: &Path, pem: &str) {
    fs::write(path, pem).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
}
