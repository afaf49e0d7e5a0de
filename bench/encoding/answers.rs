//! The same answers in both encodings, which have to lead to the same objects.

use burst_bench_readers::{json, protobuf, sources};
use burst_model::kube::{Payload, Source, Verb};
use bytes::Bytes;

use crate::{KINDS, form::Form, server::Server};

/// Objects in a page.
pub(crate) const PAGE: u32 = 500;

/// Changes in a window, of fewer objects than there are of any kind.
const CHANGES: u32 = 100;
const CHANGED: u32 = 20;

/// Seconds. What changed before a watch began comes at its beginning.
const WINDOW: u64 = 3;

/// An answer in both encodings.
pub(crate) struct Answers {
    pub(crate) what: String,
    /// The number of its source.
    pub(crate) source: usize,
    pub(crate) verb: Verb,
    pub(crate) json: Bytes,
    pub(crate) protobuf: Bytes,
    /// On the wire, in each form that the API server has of it.
    pub(crate) bytes: Vec<(Form, usize)>,
}

/// A page of each source, and a window of each with changes in it.
pub(crate) fn fetch(server: &Server) -> Vec<Answers> {
    let sources = sources();
    let each = sources.iter().zip(KINDS).enumerate();
    each.flat_map(|(number, (source, (what, kind)))| {
        let page = Answers {
            what: format!("{what}: a page"),
            ..Answers::ask(server, number, Verb::List, &source.list_path(PAGE, None))
        };
        for change in 0..CHANGES {
            server.change(kind, change % CHANGED, change as usize);
        }
        let path = source.watch_path(&page.version(), WINDOW);
        let window = Answers {
            what: format!("{what}: {CHANGES} changes"),
            ..Answers::ask(server, number, Verb::Watch, &path)
        };
        [page, window]
    })
    .collect()
}

impl Answers {
    /// The API server compresses no watch, and no list below 128 KiB.
    fn ask(server: &Server, source: usize, verb: Verb, path: &str) -> Self {
        let [json, protobuf] = [Form::JSON, Form::PROTOBUF].map(|form| form.fetch(server, path));
        let large = verb == Verb::List && protobuf.len() > 128 << 10;
        let compressed = Form::ALL.iter().skip(2).filter(|_| large);
        let mut bytes = vec![(Form::JSON, json.len()), (Form::PROTOBUF, protobuf.len())];
        bytes.extend(compressed.map(|form| (*form, form.fetch(server, path).len())));
        Self {
            what: String::new(),
            source,
            verb,
            json: json.into(),
            protobuf: protobuf.into(),
            bytes,
        }
    }

    fn version(&self) -> String {
        match json(&sources()[self.source], self.verb, &self.json) {
            Ok(Payload::Page(page)) => page.resource_version,
            other => panic!("{}: {other:?}", self.what),
        }
    }

    /// How many objects both have.
    pub(crate) fn count(&self) -> usize {
        burst_bench_readers::count(&self.read(false, false))
    }

    /// Whatever is kept of an object, its labels or not, both readers make the same of it.
    ///
    /// # Panics
    /// When one of them does not.
    pub(crate) fn assert_same(&self) {
        for labels in [false, true] {
            match (self.read(false, labels), self.read(true, labels)) {
                (Payload::Page(ours), Payload::Page(theirs)) => {
                    assert_eq!(ours.objects, theirs.objects, "{}", self.what);
                    // The version is that of the moment, and the cursor holds it.
                    assert_eq!(
                        ours.continue_token.is_some(),
                        theirs.continue_token.is_some(),
                        "{}",
                        self.what
                    );
                    assert_eq!((ours.invalid, theirs.invalid), (vec![], vec![]), "{}", self.what);
                    assert!(
                        !ours.objects.is_empty() && !theirs.resource_version.is_empty(),
                        "{}",
                        self.what
                    );
                }
                (Payload::WatchBatch(ours), Payload::WatchBatch(theirs)) => {
                    assert_eq!(ours.changes, theirs.changes, "{}", self.what);
                    assert_eq!(ours.changes.len(), CHANGES as usize, "{}", self.what);
                    assert!(
                        ours.resource_version.is_some() && theirs.resource_version.is_some(),
                        "{}",
                        self.what
                    );
                }
                other => panic!("{}: {other:?}", self.what),
            }
        }
    }

    fn read(&self, protobuf: bool, labels: bool) -> Payload {
        let source = Source {
            keep_labels: labels,
            ..sources()[self.source].clone()
        };
        let read = match protobuf {
            true => protobuf::read(&source, self.verb, &self.protobuf),
            false => json(&source, self.verb, &self.json),
        };
        read.unwrap_or_else(|error| panic!("{}: {error}", self.what))
    }
}
