//! An authority, and one certificate that both ends of a connection show.

use burst_testkit::{Authority, Credential};
use serde_json::{Value, json};

const TLS: &str = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3";

/// Certificates for proxies that know each other.
#[derive(Debug)]
pub(crate) struct Pki {
    authority: Authority,
    credential: Credential,
}

impl Pki {
    pub(crate) fn new(name: &str) -> Self {
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
