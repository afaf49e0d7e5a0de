//! Kubernetes' own encoding, as far as an answer to a LIST or a watch needs it, into the values that the reader of JSON
//! gives. <https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding>

mod message;
mod object;
mod watch;

#[cfg(test)]
mod tests;

use burst_model::{
    kube::{Failure, ListPage, Payload, Source, Verb, page::InvalidItem},
    printable::printable,
};
use bytes::Bytes;
use prost::{DecodeError, Message as _};

use message::{List, Named, Unknown};

/// What the API server is asked to `accept`.
pub const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// What stands before a `runtime.Unknown`.
const PREFIX: &[u8] = b"k8s\0";

/// Reads the body of a success.
///
/// # Errors
/// The body is no protobuf, or not a list, or watch, of that kind; or an event says so.
pub fn read(source: &Source, verb: Verb, body: &Bytes) -> Result<Payload, Failure> {
    match verb {
        Verb::List => page(source, body).map(Payload::Page),
        Verb::Watch => watch::read(source, body.clone()).map(Payload::WatchBatch),
    }
}

fn page(source: &Source, body: &Bytes) -> Result<ListPage, Failure> {
    let unknown = open(body)?;
    let found = unknown.type_meta.unwrap_or_default().kind;
    let wanted = format!("{}List", source.resource.kind);
    if found != wanted.as_bytes() {
        return Err(Failure::WrongKind {
            found: printable(String::from_utf8_lossy(&found), 64),
            expected: wanted,
        });
    }
    let list = List::decode(unknown.raw).map_err(malformed)?;
    let metadata = list.metadata.unwrap_or_default();
    let mut page = ListPage {
        resource_version: metadata.resource_version,
        continue_token: Some(metadata.r#continue).filter(|cursor| !cursor.is_empty()),
        ..ListPage::default()
    };
    for item in list.items {
        match object::read(source, item.clone()) {
            Ok(object) => page.objects.push(object),
            Err(reason) => page.invalid.push(bad(item, &reason)),
        }
    }
    Ok(page)
}

/// What stands in the envelope.
fn open(body: &Bytes) -> Result<Unknown, Failure> {
    if !body.starts_with(PREFIX) {
        return Err(Failure::Malformed("no protobuf of Kubernetes".to_owned()));
    }
    Unknown::decode(body.slice(PREFIX.len()..)).map_err(malformed)
}

fn bad(item: Bytes, reason: &object::Unread) -> InvalidItem {
    let metadata = Named::decode(item).ok().and_then(|named| named.metadata);
    let name = metadata.map(|metadata| {
        let [namespace, name] = [&metadata.namespace, &metadata.name].map(|text| String::from_utf8_lossy(text));
        printable(format_args!("{namespace}/{name}"), 300)
    });
    InvalidItem {
        name: name.unwrap_or_else(|| "an object without a name".to_owned()),
        reason: reason.to_string(),
    }
}

#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn malformed(error: DecodeError) -> Failure {
    Failure::Malformed(error.to_string())
}
