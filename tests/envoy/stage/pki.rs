//! An authority, and one certificate that both ends of a connection show.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair,
};
use serde_json::{Value, json};

const TLS: &str = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3";

/// Certificates for proxies that know each other.
#[derive(Debug)]
pub(crate) struct Pki {
    authority: String,
    certificate: String,
    key: String,
}

impl Pki {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name = named("an authority");
        let key = KeyPair::generate().expect("a key");
        let authority = CertifiedIssuer::self_signed(params, key).expect("an authority");
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new([name.to_owned()]).expect("a DNS name");
        params.distinguished_name = named(name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&key, &authority).expect("a certificate");
        Self {
            authority: authority.pem(),
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        }
    }

    fn context(&self) -> Value {
        json!({
            "tls_certificates": [{
                "certificate_chain": {"inline_string": self.certificate},
                "private_key": {"inline_string": self.key},
            }],
            "validation_context": {"trusted_ca": {"inline_string": self.authority}},
        })
    }

    pub(super) fn downstream(&self) -> Value {
        json!({
            "name": "envoy.transport_sockets.tls",
            "typed_config": {
                "@type": format!("{TLS}.DownstreamTlsContext"),
                "require_client_certificate": true,
                "common_tls_context": self.context(),
            },
        })
    }

    /// The cluster, reached over TLS with the certificate.
    pub(crate) fn over(&self, mut cluster: Value) -> Value {
        cluster["transport_socket"] = json!({
            "name": "envoy.transport_sockets.tls",
            "typed_config": {
                "@type": format!("{TLS}.UpstreamTlsContext"),
                "common_tls_context": self.context(),
            },
        });
        cluster
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}
