//! An authority, and one certificate that both ends of a connection show.

use crate::{Authority, Credential, http::Tls};
use serde_json::{Value, json};

const TLS: &str = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3";

/// Certificates for proxies that know each other.
#[derive(Debug)]
pub struct TlsIdentity {
    authority: Authority,
    credential: Credential,
}

impl TlsIdentity {
    /// A new authority, and a certificate of that name.
    pub fn new(name: &str) -> Self {
        let authority = Authority::new("an authority");
        let credential = authority.peer(name, name);
        Self { authority, credential }
    }

    fn context(&self) -> Value {
        json!({
            "tls_certificates": [{
                "certificate_chain": {"inline_string": self.credential.certificate},
                "private_key": {"inline_string": self.credential.key},
            }],
            "validation_context": {"trusted_ca": {"inline_string": self.authority.pem()}},
        })
    }

    /// A client that shows the certificate, or none.
    pub fn client(&self, shows_certificate: bool) -> Tls {
        Tls::new(&self.authority, shows_certificate.then_some(&self.credential))
    }

    pub(super) fn downstream(&self, requires_certificate: bool) -> Value {
        json!({
            "name": "envoy.transport_sockets.tls",
            "typed_config": {
                "@type": format!("{TLS}.DownstreamTlsContext"),
                "require_client_certificate": requires_certificate,
                "common_tls_context": self.context(),
            },
        })
    }

    /// The cluster, reached over TLS with the certificate.
    pub fn over(&self, mut cluster: Value) -> Value {
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
