//! Compiles the filter to wasm32 and makes the artifacts of it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::SystemTime,
};

use anyhow::{Context as _, ensure};

use crate::{artifact::Artifact, trim::trim};

/// Makes `artifacts` under `target/wasm/` and prints the size of each. One that is up to date is left alone.
pub(crate) fn build(artifacts: &[Artifact]) -> anyhow::Result<()> {
    let folder = target_folder().join("wasm");
    for artifact in artifacts {
        let linked = compile(artifact, &folder.join("build"))?;
        let finished = folder.join(artifact.file);
        if outdated(&finished, &linked)? {
            let wasm = fs::read(&linked).with_context(|| format!("cannot read {}", linked.display()))?;
            let wasm = trim(&wasm, artifact).with_context(|| linked.display().to_string())?;
            replace(&finished, &wasm)?;
        }
        println!("{}: {} bytes", finished.display(), fs::metadata(&finished)?.len());
    }
    Ok(())
}

/// Each artifact has a build folder of its own: Cargo gives a cdylib the same file name whatever its features, so in a
/// shared one each build would undo the one before.
fn compile(artifact: &Artifact, builds: &Path) -> anyhow::Result<PathBuf> {
    let target = builds.join(artifact.feature.unwrap_or("full"));
    let status = Command::new(repository().join("setup/wasm-cargo"))
        .args(["build", "--quiet", "--release", "--package", "burst-metrics", "--lib"])
        .args(artifact.feature.map(|feature| format!("--features={feature}")))
        .env("CARGO_TARGET_DIR", &target)
        .current_dir(repository())
        .status()
        .context("cannot run setup/wasm-cargo")?;
    ensure!(status.success(), "compiling {} failed", artifact.file);
    Ok(target.join("wasm32-unknown-unknown/release/burst_metrics.wasm"))
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

fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from)
}

fn repository() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}
