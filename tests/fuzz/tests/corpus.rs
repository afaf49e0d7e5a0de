//! Runs every fuzz target on its corpus, and on truncated and mutated files of it.

use burst_fuzz::{TARGETS, run};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::{collections::BTreeMap, fs};

/// A file's name and its bytes.
type File = (String, Vec<u8>);

/// The files of each target, by name.
static CORPORA: LazyLock<BTreeMap<&str, Vec<File>>> =
    LazyLock::new(|| TARGETS.iter().map(|(target, _)| (*target, corpus(target))).collect());

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn corpus(target: &str) -> Vec<File> {
    let files = fs::read_dir(fuzz().join("corpus").join(target)).unwrap();
    let file = |file: fs::DirEntry| (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap());
    files.map(|entry| file(entry.unwrap())).collect()
}

#[test]
fn valid_inputs_are_accepted_invalid_ones_refused_and_none_panics() {
    let mut wrong = Vec::new();
    for (target, files) in &*CORPORA {
        assert!(files.len() >= 3, "{target}: the corpus is there");
        for (file, bytes) in files {
            let taken = run(target, bytes);
            if file.starts_with(if taken { "bad-" } else { "good-" }) {
                wrong.push(format!("{target}/{file}: taken is {taken}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn each_target_has_a_libfuzzer_target() {
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).unwrap();
    let bins: Vec<_> = manifest
        .lines()
        .filter_map(|line| line.strip_prefix("path = \"fuzz_targets/"))
        .collect();
    let targets: Vec<_> = TARGETS.iter().map(|(target, _)| format!("{target}.rs\"")).collect();
    assert_eq!(bins, targets);
    for (target, _) in TARGETS {
        let source = fs::read_to_string(fuzz().join(format!("fuzz_targets/{target}.rs"))).unwrap();
        assert!(source.contains(&format!("run(\"{target}\"")), "{source}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn truncated_and_mutated_inputs_do_not_panic(
        file: prop::sample::Index,
        cut: prop::sample::Index,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        for (target, files) in &*CORPORA {
            let (_, mut bytes) = files[file.index(files.len())].clone();
            bytes.truncate(cut.index(bytes.len() + 1));
            for (at, byte) in &changes {
                let places = bytes.len().max(1);
                if let Some(place) = bytes.get_mut(at.index(places)) {
                    *place = *byte;
                }
            }
            let _ = run(target, &bytes);
        }
    }
}
