//! Log lines about a hub that cannot be read. Where the text of [`Failure`] is about the Kubernetes API, this module has
//! its own.

use crate::kube::Failure;

/// The log line of a failure: what is wrong and what to do about it.
pub(super) fn failure_line(cluster: &str, failure: &Failure) -> String {
    format!(
        "cannot read the hub {cluster}: {}; {}",
        reason(failure),
        advice(failure)
    )
}

pub(super) fn recovery_line(cluster: &str) -> String {
    format!("reading the hub {cluster} works again")
}

fn reason(failure: &Failure) -> String {
    match failure {
        Failure::Unreachable(why) => format!("it cannot be reached: {why}"),
        Failure::Timeout => "it did not answer in time".into(),
        Failure::Disconnected => "the answer was cut off, or is larger than Envoy buffers, or than 16 MiB".into(),
        Failure::Malformed(why) => format!("the answer is not a hub's: {why}"),
        other => other.to_string(),
    }
}

fn advice(failure: &Failure) -> &'static str {
    match failure {
        Failure::NotSent(_) | Failure::NotStreamed => "check that `cluster` names an Envoy cluster that has a host",
        Failure::Unreachable(_) => "check the cluster's address, and whether the hub asks for TLS",
        Failure::Timeout => "check the hub's load, or raise `request_timeout`",
        Failure::Disconnected => {
            "check what cuts connections to it, and the proxy's runtime key `http.async_response_buffer_limit`"
        }
        Failure::Unauthorized(_) | Failure::Forbidden(_) => "check whom the hub's own proxy lets in",
        Failure::NotFound(_) | Failure::Expired(_) => {
            "check `authority` and `hub_prefix`, and that the hub's `endpoints` are on for them"
        }
        Failure::Throttled { .. } | Failure::Server { .. } => "asking again later",
        Failure::Unexpected(_) | Failure::Malformed(_) | Failure::EndlessList(_) | Failure::WrongKind { .. } => {
            "check that `cluster` is a proxy with this filter, and its version"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let line = failure_line("burst_hub", &failure);
            assert!(line.starts_with("cannot read the hub burst_hub: "), "{line}");
            assert!(
                !line.contains("Kubernetes") && !line.contains("Role") && !line.contains("page"),
                "{line}"
            );
        }
    }
}
