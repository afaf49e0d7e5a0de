//! Decides on which connections the `x-remote-user` header is accepted.
//!
//! The header itself proves nothing. The proof is the client certificate, which Envoy verifies against the CA that the
//! listener names.
//! <https://kubernetes.io/docs/reference/access-authn-authz/authentication/#authenticating-proxy>

use crate::encoding::Encoding;
use crate::objects::StatusDetails;
use crate::status::StatusError;
use burst_model::config::MetricsApisConfig;
use burst_model::serve::LocalReply;

/// The connection that a request came on.
#[derive(Clone, Copy, Debug)]
pub struct DownstreamConnection<'a> {
    /// `connection.mtls`: whether the client presented a certificate. Envoy does not report whether it verified the
    /// certificate, so the listener has to require that.
    pub is_mutual_tls: bool,
    /// `destination.address`: the address that the client connected to. The client's own address is not reliable, because
    /// Envoy may take it from `x-forwarded-for`.
    pub local_address: &'a [u8],
}

/// Accepts connections with mutual TLS and, if the configuration allows it, connections to a loopback address.
///
/// # Errors
/// The answer to a request on any other connection (`403`).
pub fn check(apis: &MetricsApisConfig, connection: DownstreamConnection<'_>) -> Result<(), LocalReply> {
    let is_demo = apis.insecure_loopback_demo;
    if connection.is_mutual_tls || is_demo && is_loopback(connection.local_address) {
        return Ok(());
    }
    let why = if is_demo {
        "and metrics_apis.insecure_loopback_demo allows connections to a loopback address only"
    } else {
        "so the listener has to require a client certificate of the request-header CA; for a demo on a loopback address, \
         set metrics_apis.insecure_loopback_demo"
    };
    let message = format!("the metrics APIs accept X-Remote-User only over mutual TLS, {why}");
    Err(StatusError::forbidden(message, StatusDetails::default()).to_reply(Encoding::Json))
}

/// Returns whether only this machine or pod can connect to an address.
///
/// Envoy writes addresses like `inet_ntop`, in one form each, and IPv4 addresses as such even on a dual-stack socket. So
/// any other form is not a loopback address.
fn is_loopback(address: &[u8]) -> bool {
    address
        .strip_prefix(b"127.")
        .or_else(|| address.strip_prefix(b"[::1]:"))
        .is_some_and(|rest| rest.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b':')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use burst_model::config::{Artifact, Config};

    fn apis(more: &str) -> Config {
        let json = format!(r#"{{"cluster":"k","metrics_apis":{{"filter_chain":"m"{more}}}}}"#);
        Config::parse(json.as_bytes(), Artifact::Full).unwrap()
    }

    /// The message of the refusal, or `None`.
    fn refusal(config: &Config, is_mutual_tls: bool, local_address: &str) -> Option<String> {
        let connection = DownstreamConnection {
            is_mutual_tls,
            local_address: local_address.as_bytes(),
        };
        let answer = check(config.metrics_apis.as_ref().unwrap(), connection).err()?;
        let status: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        let fields = ["kind", "reason"].map(|key| status[key].as_str().unwrap().to_owned());
        assert_eq!((answer.status, fields), (403, ["Status".into(), "Forbidden".into()]));
        Some(status["message"].as_str().unwrap().to_owned())
    }

    #[test]
    fn plain_text_is_refused_with_the_settings_that_help() {
        for more in ["", r#","insecure_loopback_demo":false"#] {
            let config = apis(more);
            for address in ["127.0.0.1:6443", "10.0.0.1:6443", ""] {
                assert_eq!(refusal(&config, true, address), None, "{address}");
                let message = refusal(&config, false, address).unwrap();
                assert!(message.contains("require a client certificate"), "{message}");
                assert!(message.contains("metrics_apis.insecure_loopback_demo"), "{message}");
            }
        }
    }

    #[test]
    fn the_demo_setting_allows_loopback_addresses_only() {
        let config = apis(r#","insecure_loopback_demo":true"#);
        for (address, passes) in [
            ("127.0.0.1:6443", true),
            ("127.255.0.9:1", true),
            ("[::1]:6443", true),
            ("10.0.0.1:6443", false),
            ("0.0.0.0:6443", false),
            ("[::]:6443", false),
            ("[::ffff:10.0.0.1]:6443", false),
            ("128.0.0.1:6443", false),
            ("[::10]:6443", false),
            ("localhost:6443", false),
            ("127.example.org:6443", false),
            ("1127.0.0.1:6443", false),
            ("@127.0.0.1:6443", false),
            ("/run/metrics.sock", false),
            ("envoy://127.0.0.1:6443", false),
            ("", false),
        ] {
            let refused = refusal(&config, false, address);
            assert_eq!(refused.is_none(), passes, "{address}");
            assert!(refused.is_none_or(|message| message.contains("to a loopback address only")));
            assert_eq!(refusal(&config, true, address), None, "{address}");
        }
        let connection = DownstreamConnection {
            is_mutual_tls: false,
            local_address: b"\xff",
        };
        assert!(check(config.metrics_apis.as_ref().unwrap(), connection).is_err());
    }
}
