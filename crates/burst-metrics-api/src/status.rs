//! Error responses: the `metav1.Status` object that every Kubernetes client reads.
//! <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/>

use crate::api_version::EXTERNAL_GROUP;
use crate::encoding::{Encoding, TypeMeta};
use crate::objects::{ListMeta, Status, StatusDetails};
use burst_model::serve::LocalReply;

/// An error that is answered with a `Status` object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatusError {
    code: u16,
    /// A machine-readable reason; empty if the reference implementation sends none.
    reason: &'static str,
    message: String,
    /// In a box, so that a `Result` with this error is small.
    details: Option<Box<StatusDetails>>,
    extra_header: ExtraHeader,
}

/// A header that tells the client what to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExtraHeader {
    None,
    /// `allow: GET`.
    Allow,
    /// `retry-after: 1`.
    RetryAfter,
}

impl StatusError {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: None,
            extra_header: ExtraHeader::None,
        }
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// The path is below a served version and names nothing.
    pub(crate) fn no_such_path() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(404, "NotFound", message).with_details(StatusDetails::default())
    }

    pub(crate) fn not_found(message: impl Into<String>, details: StatusDetails) -> Self {
        Self::new(404, "NotFound", message).with_details(details)
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self {
            extra_header: ExtraHeader::Allow,
            ..Self::new(405, "MethodNotAllowed", message).with_details(StatusDetails::default())
        }
    }

    pub(crate) fn forbidden(message: impl Into<String>, details: StatusDetails) -> Self {
        Self::new(403, "Forbidden", message).with_details(details)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "InternalError", message)
    }

    pub(crate) fn watch_not_supported() -> Self {
        let message = "watch is not supported on resources of kind \"*.external.metrics.k8s.io\"";
        Self::new(405, "MethodNotAllowed", message).with_details(StatusDetails {
            group: EXTERNAL_GROUP.to_owned(),
            kind: "*".to_owned(),
            ..StatusDetails::default()
        })
    }

    pub(crate) fn not_acceptable() -> Self {
        let message = "only the following media types are accepted: application/json, application/yaml, \
                       application/vnd.kubernetes.protobuf";
        Self::new(406, "NotAcceptable", message)
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub(crate) fn uri_too_long(limit: usize) -> Self {
        let message = format!("the path and its query are longer than {limit} bytes");
        Self::new(414, "RequestURITooLong", message)
    }

    /// Like kube-apiserver under load: client-go waits a second and retries up to ten times.
    pub(crate) fn too_many_requests(message: impl Into<String>) -> Self {
        Self {
            extra_header: ExtraHeader::RetryAfter,
            ..Self::new(429, "TooManyRequests", message).with_details(StatusDetails::default())
        }
    }

    /// Has no `retry-after`: with it, client-go would retry ten times within one HPA sync and block the controller.
    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(503, "ServiceUnavailable", message)
    }

    fn with_details(mut self, details: StatusDetails) -> Self {
        self.details = Some(details.into());
        self
    }

    pub(crate) fn to_reply(&self, encoding: Encoding) -> LocalReply {
        let retry_after_seconds = i32::from(self.extra_header == ExtraHeader::RetryAfter);
        let status = Status {
            metadata: ListMeta::default(),
            status: "Failure".to_owned(),
            message: self.message.clone(),
            reason: self.reason.to_owned(),
            details: self.details.as_deref().map(|details| StatusDetails {
                retry_after_seconds,
                ..details.clone()
            }),
            code: self.code.into(),
        };
        let body = encoding.encode(TypeMeta::new("Status", "v1"), &status);
        let reply = LocalReply::new(self.code, encoding.media_type(), body);
        match self.extra_header {
            ExtraHeader::None => reply,
            ExtraHeader::Allow => reply.with("allow", "GET"),
            ExtraHeader::RetryAfter => reply.with("retry-after", "1"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(error: &StatusError) -> String {
        String::from_utf8(error.to_reply(Encoding::Json).body.to_vec()).unwrap()
    }

    #[test]
    fn bodies_equal_those_of_the_reference() {
        assert_eq!(
            body(&StatusError::unauthorized()),
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\
             \"message\":\"Unauthorized\",\"reason\":\"Unauthorized\",\"code\":401}\n"
        );
        assert_eq!(
            body(&StatusError::method_not_allowed()),
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\
             \"message\":\"the server does not allow this method on the requested resource\",\
             \"reason\":\"MethodNotAllowed\",\"details\":{},\"code\":405}\n"
        );
    }

    /// `NewTooManyRequests` of k8s.io/apimachinery.
    #[test]
    fn a_429_says_to_retry_in_a_second() {
        let error = StatusError::too_many_requests("too many requests");
        assert_eq!(
            body(&error),
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\
             \"message\":\"too many requests\",\"reason\":\"TooManyRequests\",\
             \"details\":{\"retryAfterSeconds\":1},\"code\":429}\n"
        );
        assert!(
            error
                .to_reply(Encoding::Json)
                .headers
                .contains(&("retry-after", "1".into()))
        );
    }

    #[test]
    fn no_other_error_says_to_retry() {
        for error in [
            StatusError::unavailable("old"),
            StatusError::method_not_allowed(),
            StatusError::watch_not_supported(),
        ] {
            let answer = error.to_reply(Encoding::Json);
            assert!(
                answer.headers.iter().all(|(name, _)| *name != "retry-after"),
                "{error:?}"
            );
        }
    }
}
