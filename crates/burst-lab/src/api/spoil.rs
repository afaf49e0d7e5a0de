//! How a good answer is made a bad one.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use http::header::{CONTENT_TYPE, HeaderValue};
use serde_json::{Value, json};

use super::fault::Fault;
use super::list::List;
use super::reply::Reply;

/// A list of something that no one asked for.
const OTHER_KIND: &str = r#"{"kind":"APIGroupList","apiVersion":"v1","groups":[]}"#;
/// What a wrong port may answer.
const NOT_JSON: &str =
    "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>Sign in to continue</body></html>\n";

/// Faults that lie in the objects.
pub(super) fn objects(fault: &Fault, list: &mut List) {
    match fault {
        Fault::MalformedObject { object } => {
            let first = list.items.first().map(|item| item.key.clone());
            let wanted = object.clone().or(first);
            let chosen = list.items.iter_mut().filter(|item| Some(&item.key) == wanted.as_ref());
            chosen.for_each(|item| Arc::make_mut(&mut item.object)["spec"] = json!("not a spec"));
        }
        Fault::Padding { bytes } => {
            let padding = Value::String("x".repeat(*bytes));
            list.items
                .iter_mut()
                .for_each(|item| pad(Arc::make_mut(&mut item.object), &padding));
        }
        _ => {}
    }
}

/// A large annotation, as `kubectl apply` leaves on a large object.
fn pad(object: &mut Value, padding: &Value) {
    let annotations = &mut object["metadata"]["annotations"];
    if !annotations.is_object() {
        *annotations = json!({});
    }
    annotations["burst-lab/padding"] = padding.clone();
}

/// Faults that lie in the bytes and on the wire.
pub(super) fn answer(fault: &Fault, mut answer: Response<Bytes>) -> Reply {
    match fault {
        Fault::Truncate => Reply::Answer(answer.map(|body| body.slice(..body.len() / 2))),
        Fault::OtherKind => Reply::Answer(answer.map(|_| Bytes::from_static(OTHER_KIND.as_bytes()))),
        Fault::NotJson => {
            answer
                .headers_mut()
                .insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
            Reply::Answer(answer.map(|_| Bytes::from_static(NOT_JSON.as_bytes())))
        }
        Fault::Stall => Reply::Stall(answer),
        Fault::ResetMidway => Reply::ResetMidway(answer),
        Fault::Hang => Reply::Silence,
        Fault::Reset => Reply::Reset,
        _ => Reply::Answer(answer),
    }
}
