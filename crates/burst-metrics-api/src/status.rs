//! Refusals, as every Kubernetes client reads them: `metav1.Status`.
//! <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/>

use super::JSON;
use super::json::{Quoted, list};
use burst_model::view::Answer;
use std::borrow::Cow;
use std::fmt::Write as _;

/// Why there is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StatusError {
    code: u16,
    /// Empty where the reference gives none.
    reason: &'static str,
    message: String,
    details: Option<StatusDetails>,
    hint: ExtraHeader,
}

/// What a client can do about it, in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExtraHeader {
    Nothing,
    /// Take another method.
    Allow,
    /// Ask again in a second.
    RetryAfter,
}

/// What a refusal is about; `kind` is the name of a resource, against its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StatusDetails {
    pub(super) name: String,
    pub(super) group: Cow<'static, str>,
    pub(super) kind: String,
}

impl StatusError {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: None,
            hint: ExtraHeader::Nothing,
        }
    }

    pub(super) fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// A path that nothing is behind.
    pub(super) fn no_such_path() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(404, "NotFound", message).about(StatusDetails::default())
    }

    pub(super) fn not_found(message: impl Into<String>, details: StatusDetails) -> Self {
        Self::new(404, "NotFound", message).about(details)
    }

    pub(super) fn method() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self {
            hint: ExtraHeader::Allow,
            ..Self::new(405, "MethodNotAllowed", message).about(StatusDetails::default())
        }
    }

    pub(super) fn forbidden(message: impl Into<String>, details: StatusDetails) -> Self {
        Self::new(403, "Forbidden", message).about(details)
    }

    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "InternalError", message)
    }

    pub(super) fn watch() -> Self {
        let message = "watch is not supported on resources of kind \"*.external.metrics.k8s.io\"";
        Self::new(405, "MethodNotAllowed", message).about(StatusDetails {
            group: super::external::GROUP.into(),
            kind: "*".into(),
            ..StatusDetails::default()
        })
    }

    pub(super) fn not_acceptable() -> Self {
        let message = "only the following media types are accepted: application/json";
        Self::new(406, "NotAcceptable", message)
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub(super) fn too_long(most: usize) -> Self {
        let message = format!("the path and its query are longer than {most} bytes");
        Self::new(414, "RequestURITooLong", message)
    }

    /// As kube-apiserver refuses what is too much at once: client-go waits, and asks again up to ten times.
    pub(super) fn too_many(message: impl Into<String>) -> Self {
        Self {
            hint: ExtraHeader::RetryAfter,
            ..Self::new(429, "TooManyRequests", message).about(StatusDetails::default())
        }
    }

    /// Never with `Retry-After`: client-go would ask ten times within one sync of an HPA, and block it.
    pub(super) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(503, "ServiceUnavailable", message)
    }

    fn about(mut self, details: StatusDetails) -> Self {
        self.details = Some(details);
        self
    }

    pub(super) fn answer(&self) -> Answer {
        let mut body = format!(
            r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":{}"#,
            Quoted(&self.message)
        );
        // Writing to a string cannot fail.
        if !self.reason.is_empty() {
            let _ = write!(body, r#","reason":"{}""#, self.reason);
        }
        if let Some(details) = &self.details {
            let _ = write!(body, r#","details":{{{}}}"#, details.fields(self.hint));
        }
        let _ = writeln!(body, r#","code":{}}}"#, self.code);
        let answer = Answer::new(self.code, JSON, body.into_bytes());
        match self.hint {
            ExtraHeader::Nothing => answer,
            ExtraHeader::Allow => answer.with("allow", "GET"),
            ExtraHeader::RetryAfter => answer.with("retry-after", "1"),
        }
    }
}

impl StatusDetails {
    fn fields(&self, hint: ExtraHeader) -> String {
        let fields = [("name", &*self.name), ("group", &*self.group), ("kind", &*self.kind)];
        let given = fields.into_iter().filter(|(_, value)| !value.is_empty());
        let given = given.map(|(key, value)| format!("\"{key}\":{}", Quoted(value)));
        let retry = (hint == ExtraHeader::RetryAfter).then(|| r#""retryAfterSeconds":1"#.to_owned());
        list(given.chain(retry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(refusal: &StatusError) -> String {
        String::from_utf8(refusal.answer().body.to_vec()).unwrap()
    }

    #[test]
    fn bodies_are_those_of_the_reference() {
        assert_eq!(
            body(&StatusError::unauthorized()),
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\
             \"message\":\"Unauthorized\",\"reason\":\"Unauthorized\",\"code\":401}\n"
        );
        assert_eq!(
            body(&StatusError::method()),
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\
             \"message\":\"the server does not allow this method on the requested resource\",\
             \"reason\":\"MethodNotAllowed\",\"details\":{},\"code\":405}\n"
        );
    }

    /// `NewTooManyRequests` of k8s.io/apimachinery.
    #[test]
    fn too_many_at_once_may_ask_again_in_a_second() {
        let refusal = StatusError::too_many("too many requests");
        assert_eq!(
            body(&refusal),
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\
             \"message\":\"too many requests\",\"reason\":\"TooManyRequests\",\
             \"details\":{\"retryAfterSeconds\":1},\"code\":429}\n"
        );
        assert!(refusal.answer().headers.contains(&("retry-after", "1".into())));
    }

    #[test]
    fn nothing_else_is_to_be_tried_again() {
        for refusal in [
            StatusError::unavailable("old"),
            StatusError::method(),
            StatusError::watch(),
        ] {
            let answer = refusal.answer();
            assert!(
                answer.headers.iter().all(|(name, _)| *name != "retry-after"),
                "{refusal:?}"
            );
        }
    }
}
