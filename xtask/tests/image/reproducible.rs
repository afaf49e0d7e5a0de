//! Nothing of this machine is in what ships. `make reproduce` builds it all twice, which takes minutes.

use std::{fs, path::Path};

use burst_testkit::{image, repository, wasm};

use crate::FILTERS;

/// Parts of paths that no other machine has: the checkout, and Cargo's folder for the sources of dependencies.
fn paths() -> [String; 2] {
    [repository().display().to_string(), "/registry/src/".to_owned()]
}

#[track_caller]
fn assert_nameless(file: &Path) {
    let bytes = fs::read(file).unwrap();
    for path in paths() {
        let found = bytes.windows(path.len()).any(|window| window == path.as_bytes());
        assert!(!found, "{} names {path}", file.display());
    }
}

#[test]
fn no_module_and_no_bill_of_materials_names_a_path_of_the_machine_that_built_it() {
    for filter in FILTERS {
        assert_nameless(&wasm(&format!("{filter}.wasm")));
        assert_nameless(&image(&format!("{filter}.cdx.json")));
    }
}
