//! Certificate authorities, and what they sign. Both are made for one test and live as long as it.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, SanType,
};

/// A certificate authority that signs itself.
#[derive(Debug)]
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, as PEM.
#[derive(Clone, Debug)]
pub struct Credential {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

impl Authority {
    /// A new one of that name.
    ///
    /// # Panics
    /// When this machine cannot make a key.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let mut params = named(name, None);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        Self(CertifiedIssuer::self_signed(params, key_pair()).expect("a self-signed certificate"))
    }

    /// Its certificate, as PEM.
    #[must_use]
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for a client. Kubernetes takes the common name for the user and the organization for a group.
    #[must_use]
    pub fn client(&self, user: &str, group: Option<&str>) -> Credential {
        let mut params = named(user, group);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(&params)
    }

    /// A certificate for a server that is reached by these host names and addresses.
    ///
    /// # Panics
    /// When one of them cannot be a name.
    #[must_use]
    pub fn server(&self, common_name: &str, names: &[&str]) -> Credential {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("valid server names");
        params.distinguished_name = named(common_name, None).distinguished_name;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(&params)
    }

    /// A certificate for both ends of mutual TLS: of a host name, or of what a mesh calls a workload, as `spiffe://…`.
    ///
    /// # Panics
    /// When it cannot be a name.
    #[must_use]
    pub fn peer(&self, common_name: &str, name: &str) -> Credential {
        let mut params = named(common_name, None);
        let name_of = if name.contains("://") {
            SanType::URI
        } else {
            SanType::DnsName
        };
        params.subject_alt_names = vec![name_of(name.try_into().expect("a valid name"))];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(&params)
    }

    /// Its own key, as PEM.
    pub(crate) fn key(&self) -> String {
        self.0.key().serialize_pem()
    }

    fn sign(&self, params: &CertificateParams) -> Credential {
        let key = key_pair();
        let certificate = params.signed_by(&key, &self.0).expect("a signed certificate");
        Credential {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        }
    }
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

pub(crate) fn key_pair() -> KeyPair {
    KeyPair::generate().expect("a key pair")
}
