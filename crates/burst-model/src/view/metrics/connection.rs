//! The connections on which `x-remote-user` is believed. The header is no proof of anything: the certificate is, which
//! the client shows and Envoy checks against the authority that the listener names.
//! <https://kubernetes.io/docs/reference/access-authn-authz/authentication/#authenticating-proxy>

use super::status::{Details, Refusal};
use crate::config::MetricsApisConfig;
use crate::view::Answer;

/// The connection of a request, as Envoy knows it.
#[derive(Clone, Copy, Debug)]
pub struct Connection<'a> {
    /// `connection.mtls`: whether the client showed a certificate. Envoy does not say whether it checked it; its listener
    /// has to.
    pub is_mutual_tls: bool,
    /// `destination.address`: the address that the client connected to. The address of the client is no use here, because
    /// Envoy may take it from `x-forwarded-for`.
    pub local_address: &'a [u8],
}

/// Lets the requests of a connection pass over mutual TLS, or to a loopback address where the configuration allows that.
///
/// # Errors
/// The answer to any other request.
pub fn check(apis: &MetricsApisConfig, connection: Connection<'_>) -> Result<(), Answer> {
    let is_demo = apis.insecure_loopback_demo;
    if connection.is_mutual_tls || is_demo && is_loopback(connection.local_address) {
        return Ok(());
    }
    let why = if is_demo {
        "and metrics_apis.insecure_loopback_demo allows none but connections to a loopback address"
    } else {
        "so the listener has to require a client certificate of the request-header CA; for a demo on a loopback address \
         set metrics_apis.insecure_loopback_demo"
    };
    let message = format!("the metrics APIs believe X-Remote-User only over mutual TLS, {why}");
    Err(Refusal::forbidden(message, Details::default()).answer())
}

/// An address that only the machine itself, or the pod, can connect to. Envoy writes addresses in one form, as
/// `inet_ntop` does, and an IPv4 address as such on a socket for both families too. What has another form is none.
fn is_loopback(address: &[u8]) -> bool {
    let is_numeric = |rest: &[u8]| rest.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b':'));
    let rest = address
        .strip_prefix(b"127.")
        .or_else(|| address.strip_prefix(b"[::1]:"));
    rest.is_some_and(is_numeric)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Artifact, Config};

    fn apis(more: &str) -> Config {
        let json = format!(r#"{{"cluster":"k","metrics_apis":{{"filter_chain":"m"{more}}}}}"#);
        Config::parse(json.as_bytes(), Artifact::Full).unwrap()
    }

    /// The message of the refusal, or nothing.
    fn refusal(config: &Config, is_mutual_tls: bool, local_address: &str) -> Option<String> {
        let connection = Connection {
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
    fn plain_text_is_refused_with_the_way_out() {
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
    fn a_demo_is_on_a_loopback_address_and_nowhere_else() {
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
            assert!(refused.is_none_or(|message| message.contains("to a loopback address")));
            assert_eq!(refusal(&config, true, address), None, "{address}");
        }
        let connection = Connection {
            is_mutual_tls: false,
            local_address: b"\xff",
        };
        assert!(check(config.metrics_apis.as_ref().unwrap(), connection).is_err());
    }
}
