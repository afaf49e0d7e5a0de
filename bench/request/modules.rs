//! Modules without some of their exports.

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

/// Writes a copy of our full module without some exports, and returns its path.
pub(crate) fn full_without(unwanted: &[&str]) -> PathBuf {
    let module = Module::from_file(burst_testkit::wasm("burst-metrics.wasm")).expect("a module");
    write(module, |export| unwanted.contains(&export), "burst-metrics")
}

/// Writes a copy of a filter of `bench/filters` that exports only `used` and [`NEEDED`], and returns its path.
pub(crate) fn trimmed(name: &str, used: &[&str]) -> PathBuf {
    let module = Module::from_file(compiled_filter(name)).expect("a module");
    let kept = [&NEEDED, used].concat();
    write(module, |export| !kept.contains(&export), name)
}

fn write(mut module: Module, is_unwanted: impl Fn(&str) -> bool, name: &str) -> PathBuf {
    let unwanted: Vec<_> = module
        .exports
        .iter()
        .filter(|export| is_unwanted(&export.name))
        .map(Export::id)
        .collect();
    for export in unwanted {
        module.exports.delete(export);
    }
    let trimmed = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-trimmed.wasm"));
    module.emit_wasm_file(&trimmed).expect("a file");
    trimmed
}
