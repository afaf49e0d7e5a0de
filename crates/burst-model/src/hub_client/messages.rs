//! Log lines about a hub or a peer that cannot be read. Where the text of [`Failure`] is about the Kubernetes API, this
//! module has its own.

use super::source::HubSource;
use crate::kube::Failure;

/// The log line of a failure: what is wrong and what to do about it.
pub(super) fn failure_line(source: &HubSource, failure: &Failure) -> String {
    format!(
        "cannot read {source}: {}; {}",
        reason(source, failure),
        advice(source, failure)
    )
}

pub(super) fn recovery_line(source: &HubSource) -> String {
    format!("reading {source} works again")
}

fn reason(source: &HubSource, failure: &Failure) -> String {
    match failure {
        Failure::Unreachable(why) => format!("it cannot be reached: {why}"),
        Failure::Timeout => "it did not answer in time".into(),
        Failure::Disconnected => "the answer was cut off, or is larger than Envoy buffers, or than 16 MiB".into(),
        Failure::Malformed(why) => format!("the answer is not a {}'s: {why}", source.keys().name),
        other => other.to_string(),
    }
}

fn advice(source: &HubSource, failure: &Failure) -> String {
    let words = source.keys();
    match failure {
        Failure::NotSent(_) | Failure::NotStreamed => {
            "check that `cluster` names an Envoy cluster that has a host".into()
        }
        Failure::Unreachable(_) => format!(
            "check the cluster's address, and whether the {} asks for TLS",
            words.name
        ),
        Failure::Timeout => format!("check the {}'s load, or raise `request_timeout`", words.name),
        Failure::Disconnected => {
            "check what cuts connections to it, and the proxy's runtime key `http.async_response_buffer_limit`".into()
        }
        Failure::Unauthorized(_) | Failure::Forbidden(_) => {
            format!("check whom the {}'s own proxy lets in", words.name)
        }
        Failure::NotFound(_) | Failure::Expired(_) => {
            format!(
                "check {}, and that the {}'s `endpoints` are on for them",
                words.place, words.name
            )
        }
        Failure::Throttled { .. } | Failure::Server { .. } => "asking again later".into(),
        Failure::Unexpected(_) | Failure::Malformed(_) | Failure::EndlessList(_) | Failure::WrongKind { .. } => {
            "check that `cluster` is a proxy with this filter, and its version".into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Artifact, Config};

    #[test]
    fn a_log_line_names_the_hub_and_says_what_to_do() {
        for failure in [
            Failure::NotSent("no".into()),
            Failure::Unreachable("no".into()),
            Failure::Timeout,
            Failure::Disconnected,
            Failure::Unauthorized("no".into()),
            Failure::Forbidden("no".into()),
            Failure::NotFound("no".into()),
            Failure::Throttled { retry_after: None },
            Failure::Unexpected(302),
            Failure::Malformed("no".into()),
        ] {
            let config = br#"{"cluster":"burst_hub","source":"hub"}"#;
            let config = Config::parse(config, Artifact::Full).unwrap();
            let line = failure_line(&HubSource::hub(&config, "/"), &failure);
            assert!(line.starts_with("cannot read the hub burst_hub: "), "{line}");
            assert!(
                !line.contains("Kubernetes") && !line.contains("Role") && !line.contains("page"),
                "{line}"
            );
        }
    }
}
