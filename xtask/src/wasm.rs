//! Compiles the filter to wasm32 and post-processes it into the artifacts.

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
    /// The artifact.
    pub(crate) artifact: &'static Artifact,
    /// The file.
    pub(crate) path: PathBuf,
    /// The packages in it.
    pub(crate) packages: BTreeSet<PackageId>,
}

/// Builds `artifacts` under `target/wasm/` and prints the size of each. One that is up to date is not written again.
pub(crate) fn build(artifacts: &'static [Artifact], metadata: &Metadata) -> anyhow::Result<Vec<Module>> {
    let folder = target_folder().join("wasm");
    let mut modules = Vec::new();
    for artifact in artifacts {
        // Each artifact has its own build folder: a cdylib has the same file name with all features, so in a shared
        // folder each build would replace the one before.
        let build = folder.join("build").join(artifact.feature.unwrap_or("full"));
        let linked = cargo::compile(artifact, &build, metadata)?;
        let path = folder.join(artifact.file);
        if is_outdated(&path, &linked.module)? {
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

/// Returns whether `finished` is older than the linked module, or than this program, which has the list of exports.
fn is_outdated(finished: &Path, linked: &Path) -> anyhow::Result<bool> {
    let Ok(made) = modified(finished) else { return Ok(true) };
    Ok(made < modified(linked)? || made < modified(&std::env::current_exe()?)?)
}

fn modified(path: &Path) -> anyhow::Result<SystemTime> {
    fs::metadata(path)
        .and_then(|metadata| metadata.modified())
        .with_context(|| path.display().to_string())
}

/// Replaces the file by renaming, so that an Envoy that loads it never reads an incomplete file.
fn replace(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let unfinished = path.with_extension("tmp");
    fs::write(&unfinished, bytes)?;
    fs::rename(&unfinished, path)?;
    Ok(())
}

/// Returns Cargo's target folder.
pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from)
}
