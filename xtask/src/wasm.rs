//! Compiles the filter to wasm32 and makes the artifacts of it.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use anyhow::Context as _;
use cargo_metadata::{Metadata, PackageId};

use crate::{
    artifact::Artifact,
    cargo::{self, repository},
    trim::trim,
};

/// A finished module.
pub(crate) struct Module {
    /// What was asked for.
    pub(crate) artifact: &'static Artifact,
    /// The file.
    pub(crate) path: PathBuf,
    /// The packages in it.
    pub(crate) packages: BTreeSet<PackageId>,
}

/// Makes `artifacts` under `target/wasm/` and prints the size of each. One that is up to date is left alone.
pub(crate) fn build(artifacts: &'static [Artifact], metadata: &Metadata) -> anyhow::Result<Vec<Module>> {
    let folder = target_folder().join("wasm");
    let mut modules = Vec::new();
    for artifact in artifacts {
        // Each artifact has a build folder of its own: Cargo gives a cdylib the same file name whatever its features, so
        // in a shared one each build would undo the one before.
        let build = folder.join("build").join(artifact.feature.unwrap_or("full"));
        let linked = cargo::compile(artifact, &build, metadata)?;
        let path = folder.join(artifact.file);
        if outdated(&path, &linked.module)? {
            let module = linked.module.display().to_string();
            let wasm = fs::read(&linked.module).with_context(|| format!("cannot read {module}"))?;
            replace(&path, &trim(&wasm, artifact).context(module)?)?;
        }
        println!("{}: {} bytes", path.display(), fs::metadata(&path)?.len());
        modules.push(Module {
            artifact,
            path,
            packages: linked.packages,
        });
    }
    Ok(modules)
}

/// Whether `finished` is older than the module it is made from, or than this program, which knows the exports.
fn outdated(finished: &Path, linked: &Path) -> anyhow::Result<bool> {
    let Ok(made) = modified(finished) else { return Ok(true) };
    Ok(made < modified(linked)? || made < modified(&std::env::current_exe()?)?)
}

fn modified(path: &Path) -> anyhow::Result<SystemTime> {
    fs::metadata(path)
        .and_then(|metadata| metadata.modified())
        .with_context(|| path.display().to_string())
}

/// By rename: an Envoy that watches the file, or loads it just now, never sees half of it.
fn replace(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let unfinished = path.with_extension("tmp");
    fs::write(&unfinished, bytes)?;
    fs::rename(&unfinished, path)?;
    Ok(())
}

/// Cargo's folder for all that is built.
pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from)
}
