//! One bounded watch: frames of four bytes that say how long the rest is, each with an event that has no envelope of its
//! own. <https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/util/framer/framer.go>

use burst_model::{
    kube::{Change, Failure, Source, WatchBatch},
    printable::printable,
};
use bytes::{Buf as _, Bytes};
use prost::Message as _;

use super::{
    bad, malformed,
    message::{Named, ObjectMeta, Status, WatchEvent},
    object, open,
};

/// A last frame without its end was cut off on the way: it is left out, and comes again with the next watch.
pub(super) fn read(source: &Source, mut body: Bytes) -> Result<WatchBatch, Failure> {
    let mut window = WatchBatch::default();
    if !body.is_empty() && frame(&mut body.clone()).is_none() {
        return Err(Failure::Disconnected);
    }
    while let Some(frame) = frame(&mut body) {
        let event = WatchEvent::decode(frame).map_err(malformed)?;
        let item = open(&event.object.unwrap_or_default().raw)?.raw;
        if event.r#type == b"ERROR"[..] {
            return Err(error(item));
        }
        let metadata = Named::decode(item.clone()).map_err(malformed)?.metadata;
        let metadata = metadata.unwrap_or_default();
        match &event.r#type[..] {
            b"ADDED" | b"MODIFIED" => window.changes.push(put(source, item)),
            b"DELETED" => window
                .changes
                .extend(object::object_name(&metadata).ok().map(Change::Delete)),
            b"BOOKMARK" => {}
            other => {
                let unknown = printable(String::from_utf8_lossy(other), 30);
                return Err(Failure::Malformed(format!("an event of type {unknown}")));
            }
        }
        window.resource_version = Some(version(&metadata)?);
    }
    Ok(window)
}

fn frame(body: &mut Bytes) -> Option<Bytes> {
    let length = usize::try_from(body.try_get_u32().ok()?).ok()?;
    (length <= body.len()).then(|| body.split_to(length))
}

fn put(source: &Source, item: Bytes) -> Change {
    match object::read(source, item.clone()) {
        Ok(object) => Change::Apply(object),
        Err(reason) => Change::Invalid(bad(item, &reason)),
    }
}

fn version(metadata: &ObjectMeta) -> Result<String, Failure> {
    match std::str::from_utf8(&metadata.resource_version) {
        Ok(version) if !version.is_empty() => Ok(version.to_owned()),
        _ => Err(Failure::Malformed("an event without a version".to_owned())),
    }
}

fn error(item: Bytes) -> Failure {
    match Status::decode(item) {
        Ok(Status { code: 410, message }) => Failure::Expired(printable(&message, 300)),
        Ok(Status { code, message }) => Failure::Server {
            status: u16::try_from(code).unwrap_or_default(),
            message: printable(&message, 300),
            retry_after: None,
        },
        Err(error) => malformed(error),
    }
}
