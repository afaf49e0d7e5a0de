//! Shipped files contain nothing of the machine that built them. `make reproduce` builds them twice, which takes minutes.

use std::{fs, path::Path};

use burst_testkit::{image, repository, wasm};

use crate::FILTERS;

/// Parts of paths that only this machine has: the checkout, and Cargo's folder for the sources of dependencies.
fn paths() -> [String; 2] {
    [repository().display().to_string(), "/registry/src/".to_owned()]
}

#[track_caller]
fn assert_has_no_paths(file: &Path) {
    let bytes = fs::read(file).unwrap();
    for path in paths() {
        let found = bytes.windows(path.len()).any(|window| window == path.as_bytes());
        assert!(!found, "{} contains {path}", file.display());
    }
}

#[test]
fn no_module_and_no_sbom_contains_a_path_of_the_machine_that_built_it() {
    for filter in FILTERS {
        assert_has_no_paths(&wasm(&format!("{filter}.wasm")));
        assert_has_no_paths(&image(&format!("{filter}.cdx.json")));
    }
}
