//! The errors of a kube-apiserver, field for field as v1.36.3 was seen to send them:
//! <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/>

use http::StatusCode;
use serde::Serialize;

/// A `metav1.Status` of a failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(super) struct Status(Box<Fields>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Fields {
    kind: &'static str,
    api_version: &'static str,
    metadata: StatusMetadata,
    status: &'static str,
    message: String,
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Details>,
    code: u16,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct StatusMetadata {
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// The subject of the failure; empty fields are omitted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Details {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) group: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) kind: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) causes: Vec<Cause>,
    #[serde(rename = "retryAfterSeconds", skip_serializing_if = "Option::is_none")]
    pub(super) retry_after_seconds: Option<u32>,
}

/// One line of `details.causes`; empty fields are omitted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Cause {
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'static str,
    message: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    field: &'static str,
}

impl Cause {
    /// A field that must not be set.
    pub(super) fn forbidden(field: &'static str, message: &str) -> Self {
        Cause {
            reason: "FieldValueForbidden",
            message: format!("Forbidden: {message}"),
            field,
        }
    }

    /// A field with a value other than these.
    pub(super) fn unsupported(field: &'static str, found: &str, supported: &str) -> Self {
        Cause {
            reason: "FieldValueNotSupported",
            message: format!("Unsupported value: {found:?}: supported values: {supported}"),
            field,
        }
    }
}

impl Status {
    fn new(code: StatusCode, reason: &'static str, message: impl Into<String>, details: Option<Details>) -> Self {
        Status(Box::new(Fields {
            kind: "Status",
            api_version: "v1",
            metadata: StatusMetadata::default(),
            status: "Failure",
            message: message.into(),
            reason,
            details,
            code: code.as_u16(),
        }))
    }

    pub(super) fn code(&self) -> StatusCode {
        StatusCode::from_u16(self.0.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Status::new(StatusCode::BAD_REQUEST, "BadRequest", message, None)
    }

    pub(super) fn unauthorized() -> Self {
        Status::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized", None)
    }

    pub(super) fn forbidden(message: impl Into<String>, details: Details) -> Self {
        Status::new(StatusCode::FORBIDDEN, "Forbidden", message, Some(details))
    }

    /// The resource exists, the object does not.
    pub(super) fn not_found(resource: &str, details: Details) -> Self {
        let message = format!("{resource} {:?} not found", details.name);
        Status::new(StatusCode::NOT_FOUND, "NotFound", message, Some(details))
    }

    /// The group is served, but not this version or resource.
    pub(super) fn unknown_resource() -> Self {
        let message = "the server could not find the requested resource";
        Status::new(StatusCode::NOT_FOUND, "NotFound", message, Some(Details::default()))
    }

    pub(super) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Status::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "MethodNotAllowed",
            message,
            Some(Details::default()),
        )
    }

    /// 410 of a watch, sent as an event.
    pub(super) fn too_old(asked: u64, oldest: u64) -> Self {
        let message = format!("too old resource version: {asked} ({oldest})");
        Status::new(StatusCode::GONE, "Expired", message, None)
    }

    /// 410; `next` is a token that continues at the newest version.
    pub(super) fn expired(next: Option<String>) -> Self {
        let message = if next.is_some() {
            "The provided continue parameter is too old to display a consistent list result. \
             You can start a new list without the continue parameter, or use the continue token in this response to \
             retrieve the remainder of the results. Continuing with the provided token results in an inconsistent \
             list - objects that were created, modified, or deleted between the time the first chunk was returned \
             and now may show up in the list."
        } else {
            "The resourceVersion for the provided list is too old."
        };
        let mut status = Status::new(StatusCode::GONE, "Expired", message, None);
        status.0.metadata.next = next;
        status
    }

    /// 504 of a watch, sent as an event.
    pub(super) fn too_large(asked: u64, newest: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {newest}");
        let causes = vec![Cause {
            reason: "ResourceVersionTooLarge",
            message: "Too large resource version".to_owned(),
            ..Cause::default()
        }];
        let details = Some(Details {
            causes,
            retry_after_seconds: Some(1),
            ..Details::default()
        });
        Status::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message, details)
    }

    /// 422 of parameters that do not fit together; there is at least one cause.
    pub(super) fn invalid_list_options(causes: Vec<Cause>) -> Self {
        let errors: Vec<_> = causes
            .iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message))
            .collect();
        let errors = match errors.as_slice() {
            [error] => error.clone(),
            errors => format!("[{}]", errors.join(", ")),
        };
        let message = format!("ListOptions.meta.k8s.io \"\" is invalid: {errors}");
        let details = Some(Details {
            group: "meta.k8s.io".to_owned(),
            kind: "ListOptions".to_owned(),
            causes,
            ..Details::default()
        });
        Status::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message, details)
    }

    pub(super) fn internal(error: &str) -> Self {
        let causes = vec![Cause {
            message: error.to_owned(),
            ..Cause::default()
        }];
        let message = format!("Internal error occurred: {error}");
        let details = Some(Details {
            causes,
            ..Details::default()
        });
        Status::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", message, details)
    }

    pub(super) fn unavailable() -> Self {
        let message = "the server is currently unable to handle the request";
        Status::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "ServiceUnavailable",
            message,
            Some(Details::default()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_the_fields_of_a_real_one_in_their_order() {
        let real = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}"#;
        assert_eq!(serde_json::to_string(&Status::unauthorized()).unwrap(), real);
    }

    #[test]
    fn an_object_that_is_not_there_is_named_as_a_real_server_names_it() {
        let real = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"horizontalpodautoscalers.autoscaling \"zz\" not found","reason":"NotFound","details":{"name":"zz","group":"autoscaling","kind":"horizontalpodautoscalers"},"code":404}"#;
        let details = Details {
            name: "zz".to_owned(),
            group: "autoscaling".to_owned(),
            kind: "horizontalpodautoscalers".to_owned(),
            ..Details::default()
        };
        let status = Status::not_found("horizontalpodautoscalers.autoscaling", details);
        assert_eq!(serde_json::to_string(&status).unwrap(), real);
    }
}
