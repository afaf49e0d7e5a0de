//! Turns good responses into bad ones.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http::header::{CONTENT_TYPE, HeaderValue};
use serde_json::{Value, json};

use super::fault::Fault;
use super::list_page::List;
use super::reply::Reply;

/// A list of another kind than the requested one.
const OTHER_KIND: &str = r#"{"kind":"APIGroupList","apiVersion":"v1","groups":[]}"#;
/// A response of a wrong port.
const NOT_JSON: &str =
    "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>Sign in to continue</body></html>\n";

/// Applies faults of single objects.
pub(super) fn objects(fault: &Fault, list: &mut List) {
    match fault {
        Fault::MalformedObject { object } => {
            let first = list.items.first().map(|item| item.key.clone());
            let wanted = object.clone().or(first);
            let chosen = list.items.iter_mut().filter(|item| Some(&item.key) == wanted.as_ref());
            chosen.for_each(|item| Arc::make_mut(&mut item.object)["spec"] = json!("not a spec"));
        }
        Fault::LargeSelectors { namespace, bytes } => {
            let (prefix, selector) = (format!("{namespace}/"), selector_of_size(*bytes));
            let chosen = list.items.iter_mut().filter(|item| item.key.starts_with(&prefix));
            chosen.for_each(|item| Arc::make_mut(&mut item.object)["spec"]["selector"] = selector.clone());
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

/// Labels of this many bytes of JSON. They are short, because many labels cost a client more memory than a few long ones.
fn selector_of_size(bytes: usize) -> Value {
    let labels = (0..bytes / r#""k0000000":"v","#.len()).map(|number| (format!("k{number:07}"), json!("v")));
    Value::Object(labels.collect())
}

/// Adds a large annotation, as `kubectl apply` does for a large object.
fn pad(object: &mut Value, padding: &Value) {
    let annotations = &mut object["metadata"]["annotations"];
    if !annotations.is_object() {
        *annotations = json!({});
    }
    annotations["burst-lab/padding"] = padding.clone();
}

/// Applies faults of the body and of the connection.
pub(super) fn response(fault: &Fault, mut response: Response<Bytes>) -> Reply {
    match fault {
        Fault::Truncate => Reply::Response(response.map(|body| body.slice(..body.len() / 2))),
        Fault::OtherKind => Reply::Response(response.map(|_| Bytes::from_static(OTHER_KIND.as_bytes()))),
        Fault::NotJson => {
            response
                .headers_mut()
                .insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
            Reply::Response(response.map(|_| Bytes::from_static(NOT_JSON.as_bytes())))
        }
        Fault::NotText => Reply::Response(response.map(|body| with_invalid_utf8(&body))),
        Fault::Also { objects } => Reply::Response(response.map(|body| with_objects(&body, objects))),
        Fault::Trickle { seconds } => Reply::Trickle(response, Duration::from_secs(u64::from(*seconds))),
        Fault::Stall => Reply::Stall(response),
        Fault::ResetMidway => Reply::ResetMidway(response),
        Fault::Hang => Reply::Hang,
        Fault::Reset => Reply::Reset,
        _ => Reply::Response(response),
    }
}

/// Inserts a byte that is not UTF-8 into the first name.
fn with_invalid_utf8(body: &Bytes) -> Bytes {
    let mut body = body.to_vec();
    let name = b"\"name\":\"";
    if let Some(at) = body.windows(name.len()).position(|window| window == name) {
        body.insert(at + name.len(), 0xff);
    }
    body.into()
}

/// Inserts more objects at the start of a list or of the events of a watch.
fn with_objects(body: &Bytes, objects: &[String]) -> Bytes {
    let items = b"\"items\":[";
    let place = body.windows(items.len()).position(|window| window == items);
    let Some(place) = place.map(|at| at + items.len()) else {
        let lines = objects
            .iter()
            .map(|object| format!("{{\"type\":\"MODIFIED\",\"object\":{object}}}\n"));
        return [lines.collect::<String>().as_bytes(), body].concat().into();
    };
    let (before, after) = body.split_at(place);
    let comma = if after.starts_with(b"]") { "" } else { "," };
    [before, objects.join(",").as_bytes(), comma.as_bytes(), after]
        .concat()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_objects_are_added_to_lists_and_watches() {
        let objects = ["1".to_owned(), "{}".to_owned()];
        for (body, wanted) in [
            (r#"{"items":[]}"#, r#"{"items":[1,{}]}"#),
            (r#"{"items":[2]}"#, r#"{"items":[1,{},2]}"#),
            (
                "x\n",
                "{\"type\":\"MODIFIED\",\"object\":1}\n{\"type\":\"MODIFIED\",\"object\":{}}\nx\n",
            ),
        ] {
            assert_eq!(with_objects(&Bytes::from(body), &objects), wanted);
        }
    }

    #[test]
    fn a_byte_that_is_not_utf8_is_inserted_into_a_name() {
        let body = with_invalid_utf8(&Bytes::from_static(br#"{"name":"a"}"#));
        assert_eq!(body, b"{\"name\":\"\xffa\"}".as_slice());
    }
}
