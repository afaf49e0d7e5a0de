//! Responses of a Kubernetes API.

use burst_model::kube::{
    ApiResponse, BodyEnd, BodyItem, BodyReader, Change, Failure, KeptFields, ListPage, ObjectKind, Resource, SignalSet,
    Source, Verb, WatchBatch, page, response, watch,
};
use burst_model::name::ObjectName;
use serde_json::Value;
use std::collections::BTreeMap;

/// One source of each kind, because each kind reads other fields.
pub(crate) fn sources() -> [Source; 4] {
    let kept = KeptFields {
        labels: true,
        signals: SignalSet::ALL,
    };
    [
        Source {
            kept,
            ..Source::all_namespaces(ObjectKind::Hpas, Resource::hpas())
        },
        Source::all_namespaces(ObjectKind::Services, Resource::services()),
        Source {
            kept,
            ..Source::all_namespaces(ObjectKind::Workloads, Resource::deployments())
        },
        Source::all_namespaces(ObjectKind::Policies, Resource::external_metric_policies()),
    ]
}

/// Parses a list. Each item is either an object or an invalid one.
pub(crate) fn list(bytes: &[u8]) -> bool {
    let pages = sources().map(|source| page::parse(&source, bytes, &mut ()).ok());
    let items = || {
        serde_json::from_slice::<Value>(bytes).ok()?["items"]
            .as_array()
            .map(Vec::len)
    };
    for ListPage {
        objects, invalid: bad, ..
    } in pages.iter().flatten()
    {
        if let Some(items) = items() {
            assert_eq!(objects.len() + bad.len(), items, "an object is lost");
        }
    }
    pages.iter().any(Option::is_some)
}

/// Parses the body of a watch. The final state of each object is the same if the parts are parsed one after the other,
/// and an incomplete last line is ignored.
pub(crate) fn watch(bytes: &[u8]) -> bool {
    sources().iter().filter(|source| is_window(source, bytes)).count() > 0
}

fn is_window(source: &Source, bytes: &[u8]) -> bool {
    let Ok(whole) = watch::parse(source, bytes, &mut ()) else {
        return false;
    };
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let lines = &bytes[..end];
    assert_eq!(read(source, lines), whole, "half a line counts");
    // Only an object's last change is parsed. If each line is parsed by itself, an earlier one may be refused for bytes
    // like these.
    if std::str::from_utf8(lines).is_err() {
        return true;
    }
    let first = lines.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let (first, rest) = (read(source, &lines[..first]), read(source, &lines[first..]));
    let version = rest.resource_version.or(first.resource_version);
    assert_eq!(version, whole.resource_version, "the parts lead somewhere else");
    let parts = last(first.changes.into_iter().chain(rest.changes));
    assert_eq!(parts, last(whole.changes), "the parts say something else");
    true
}

/// The last change of each object, by name. An object without a name cannot be identified, and the API sends none.
fn last(changes: impl IntoIterator<Item = Change>) -> BTreeMap<String, Change> {
    let name = |change: &Change| match change {
        Change::Apply(object) => object.name().to_string(),
        Change::Invalid(bad) => bad.name.to_string(),
        Change::Retained(name) => name.clone(),
        Change::Delete(name) => name.to_string(),
    };
    let named = changes.into_iter().map(|change| (name(&change), change));
    named.filter(|(name, _)| ObjectName::parse(name).is_ok()).collect()
}

fn read(source: &Source, lines: &[u8]) -> WatchBatch {
    watch::parse(source, lines, &mut ()).expect("a part of a good window is one")
}

/// Reads a body that arrives in chunks. The first byte is the size of the chunks. The result is the same in one piece.
pub(crate) fn body(bytes: &[u8]) -> bool {
    let Some((size, body)) = bytes.split_first() else {
        return false;
    };
    let size = usize::from(*size).max(1);
    let is_body = |source: &Source| [Verb::List, Verb::Watch].map(|verb| is_body(source, verb, body, size));
    sources()
        .iter()
        .map(is_body)
        .collect::<Vec<_>>()
        .as_flattened()
        .contains(&true)
}

fn is_body(source: &Source, verb: Verb, body: &[u8], size: usize) -> bool {
    let (items, end) = read_chunks(source, verb, body, usize::MAX);
    let in_chunks = read_chunks(source, verb, body, size);
    assert_eq!((&items, &end), (&in_chunks.0, &in_chunks.1), "chunks of {size} bytes");
    match verb {
        Verb::List => {
            let page = page::parse(source, body, &mut ());
            assert_eq!(page.is_ok(), end.is_ok(), "the page is read in another way");
            if let Ok(page) = page {
                assert_eq!(
                    page.objects.len() + page.invalid.len(),
                    items.len(),
                    "an object is lost"
                );
            }
        }
        // A watch in one piece skips changes that another one follows, and the bytes in them.
        Verb::Watch if end.is_ok() => {
            let batch = watch::parse(source, body, &mut ()).expect("what the reader accepts");
            let changes = items.into_iter().filter_map(|item| match item {
                BodyItem::Change { change, .. } => Some(change),
                _ => None,
            });
            assert_eq!(last(changes), last(batch.changes), "the batch is read in another way");
        }
        Verb::Watch => {}
    }
    end.is_ok()
}

fn read_chunks(source: &Source, verb: Verb, body: &[u8], size: usize) -> (Vec<BodyItem>, Result<BodyEnd, Failure>) {
    let mut reader = BodyReader::new(verb);
    let mut items = Vec::new();
    for chunk in body.chunks(size) {
        reader.push(chunk);
        loop {
            match reader.next(source, &mut ()) {
                Ok(Some(item)) => items.push(item),
                Ok(None) => break,
                Err(failure) => return (items, Err(failure)),
            }
        }
    }
    (items, reader.finish(source))
}

/// Parses a response: three digits of status, a line of `retry-after` and the body. The error message is fit for a log
/// line.
pub(crate) fn status(bytes: &[u8]) -> bool {
    let (digits, rest) = bytes.split_at_checked(3).unwrap_or((&[], bytes));
    let status = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
    let (retry_after, body) = match rest.iter().position(|byte| *byte == b'\n') {
        Some(end) => (Some(&rest[..end]), &rest[end + 1..]),
        None => (None, rest),
    };
    let read = |source: &Source, verb, content_type| {
        let response = ApiResponse {
            status,
            content_type,
            retry_after,
            body,
        };
        let answer = response::parse(source, verb, response, &mut ());
        if let Err(failure) = &answer {
            let line = format!("{failure}; {}", failure.advice(source, verb));
            assert!(line.len() < 4_000 && !line.contains('\n'), "{line}");
        }
        answer.is_ok()
    };
    let [hpas, ..] = sources();
    let types = [None, Some(b"application/json".as_slice()), Some(b"text/plain")];
    let taken = types.map(|content_type| [Verb::List, Verb::Watch].map(|verb| read(&hpas, verb, content_type)));
    taken.as_flattened().contains(&true)
}
