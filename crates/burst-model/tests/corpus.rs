//! Every parser of foreign bytes on its corpus, and on cuts and changes of it.

use burst_model::config::{Artifact, Config};
use burst_model::kube::{Reads, Resource, Source, page};
use burst_model::records::{Confirmed, Record, Resume};
use burst_model::snapshot::Snapshot;
use burst_model::spoke;
use burst_model::sync::lease::Lease;
use burst_model::time::Time;
use burst_model::view::{Picture, burst};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

/// Whether the bytes were taken.
type Parser = fn(&[u8]) -> bool;

const PARSERS: [(&str, Parser); 5] = [
    ("kubernetes", kubernetes),
    ("hub", hub),
    ("path", path),
    ("config", config),
    ("snapshot", snapshot),
];

fn kubernetes(bytes: &[u8]) -> bool {
    let list = |reads, resource| {
        let source = Source::everywhere(reads, resource);
        page::read(&source, bytes, &mut ()).is_ok()
    };
    let (services, deployments) = (Resource::services(), Resource::deployments());
    // All of them: the fields that are read differ.
    [
        list(Reads::Hpas, Resource::hpas()),
        list(Reads::Services, services),
        list(Reads::Workloads, deployments),
    ]
    .contains(&true)
}

fn hub(bytes: &[u8]) -> bool {
    let response = spoke::Response {
        status: Some(200),
        confirmed: Some(b"at=1700000000000, age=0"),
        body: bytes,
        ..spoke::Response::default()
    };
    // The headers too, which the corpus is no example of.
    let headers = spoke::Response {
        confirmed: Some(bytes),
        etag: Some(bytes),
        retry_after: Some(bytes),
        ..response
    };
    let _ = spoke::read(headers, &mut ());
    spoke::read(response, &mut ()).is_ok()
}

/// Taken means: a shape that is answered. Nothing is known, so the answer is that.
fn path(bytes: &[u8]) -> bool {
    let config = Config::parse(br#"{"cluster":"k"}"#, Artifact::Full).unwrap();
    let endpoints = config.endpoints.as_ref().unwrap();
    let path = [endpoints.prefix.as_bytes(), bytes].concat();
    let request = burst::Request {
        method: b"GET",
        path: &path,
        host: bytes,
        if_none_match: Some(bytes),
        now: Time::default(),
    };
    burst::answer(&config, endpoints, &mut Picture::default(), request).is_some_and(|answer| answer.status == 503)
}

fn config(bytes: &[u8]) -> bool {
    Config::parse(bytes, Artifact::Full).is_ok()
}

fn snapshot(bytes: &[u8]) -> bool {
    let _ = (
        Lease::from_bytes(bytes),
        Resume::from_bytes(bytes),
        Confirmed::from_bytes(bytes),
    );
    Snapshot::open(bytes.to_vec()).is_ok_and(|snapshot| {
        let sections = ["services", "hpas"].map(|kind| snapshot.section(kind).map(|section| section.rows().count()));
        sections.iter().any(Option::is_some)
    })
}

fn corpus(name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name);
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files
        .map(|file| {
            (
                file.file_name().unwrap().to_string_lossy().into_owned(),
                fs::read(&file).unwrap(),
            )
        })
        .collect()
}

#[test]
fn good_bytes_are_taken_and_bad_ones_refused() {
    for (name, parser) in PARSERS {
        let files = corpus(name);
        assert!(files.len() >= 3, "{name}: the corpus is there");
        for (file, bytes) in files {
            assert_eq!(parser(&bytes), file.starts_with("good-"), "{name}/{file}");
        }
    }
}

proptest! {
    #[test]
    fn cuts_and_changes_of_them_are_survived(
        file: prop::sample::Index,
        cut: prop::sample::Index,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        for (name, parser) in PARSERS {
            let files = corpus(name);
            let (_, mut bytes) = files[file.index(files.len())].clone();
            bytes.truncate(cut.index(bytes.len() + 1));
            for (at, byte) in &changes {
                let places = bytes.len().max(1);
                if let Some(place) = bytes.get_mut(at.index(places)) {
                    *place = *byte;
                }
            }
            parser(&bytes);
        }
    }
}
