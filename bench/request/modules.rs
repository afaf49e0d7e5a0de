//! The modules that ours stand beside: those of `bench/filters`.

use std::path::{Path, PathBuf};

use walrus::{Export, Module};

/// What a host needs to run a module at all, and the SDK to know of its contexts.
const NEEDED: [&str; 8] = [
    "memory",
    "_initialize",
    "proxy_abi_version_0_2_1",
    "malloc",
    "proxy_on_context_create",
    "proxy_on_vm_start",
    "proxy_on_configure",
    "proxy_on_delete",
];

/// One as it was compiled: with every export of the SDK, if it has the SDK.
pub(crate) fn compiled(name: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("a target folder");
    let folder = target.join("wasm32-unknown-unknown/release/examples");
    let module = folder.join(name).with_extension("wasm");
    assert!(module.exists(), "{} is not there: run `make bench`", module.display());
    module
}

/// The same without the exports that it has no use for: those but `used` and what is needed.
pub(crate) fn trimmed(name: &str, used: &[&str]) -> PathBuf {
    let mut module = Module::from_file(compiled(name)).expect("a module");
    let is_kept = |export: &&Export| [&NEEDED, used].concat().contains(&export.name.as_str());
    let unused: Vec<_> = module
        .exports
        .iter()
        .filter(|export| !is_kept(export))
        .map(Export::id)
        .collect();
    for export in unused {
        module.exports.delete(export);
    }
    let trimmed = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-trimmed.wasm"));
    module.emit_wasm_file(&trimmed).expect("a file");
    trimmed
}
