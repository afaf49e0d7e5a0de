//! Filters of `bench/filters` without the exports that they do not use.

use std::path::{Path, PathBuf};

use burst_bench_kit::proxy::compiled_filter;
use walrus::{Export, Module};

/// The exports that a host needs to run a module, and the SDK to track its contexts.
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

/// Writes a copy of a filter that exports only `used` and [`NEEDED`], and returns its path.
pub(crate) fn trimmed(name: &str, used: &[&str]) -> PathBuf {
    let mut module = Module::from_file(compiled_filter(name)).expect("a module");
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
