//! How large a module is with one reader, with the other, and with both.

use std::{
    fs,
    path::{Path, PathBuf},
};

use walrus::ModuleConfig;

use crate::table::Table;

pub(crate) fn rows(table: &mut Table) {
    println!("bytes of a module, without the names of its functions:");
    let [one, _, both] = [
        ("the reader of JSON", "reader_json"),
        ("the reader of protobuf", "reader_protobuf"),
        ("both", "reader_both"),
    ]
    .map(|(what, name)| table.counts(format!("module: {what}"), vec![size(&module(name))]));
    table.counts("module: what the second reader adds", vec![both - one]);
}

/// What `make bench` built for Wasm.
pub(crate) fn module(name: &str) -> PathBuf {
    target().join(format!("wasm32-unknown-unknown/release/examples/{name}.wasm"))
}

/// What it built natively.
pub(crate) fn native(name: &str) -> PathBuf {
    target().join("release/examples").join(name)
}

fn target() -> &'static Path {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    target.expect("the target folder")
}

/// Nothing of a module is read but what a host loads.
fn size(module: &Path) -> u64 {
    let bytes = fs::read(module).unwrap_or_else(|error| panic!("{}: {error}; run `make bench`", module.display()));
    let mut config = ModuleConfig::new();
    config.generate_name_section(false).generate_producers_section(false);
    let mut module = config.parse(&bytes).expect("a module");
    module.emit_wasm().len() as u64
}
