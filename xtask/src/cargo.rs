//! Cargo for wasm32: the metadata of packages, and compiling.

use std::{
    collections::BTreeSet,
    io::{self, BufReader, IsTerminal as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, ensure};
use cargo_metadata::{Message, Metadata, MetadataCommand, PackageId};

use crate::artifact::Artifact;

const TARGET: &str = "wasm32-unknown-unknown";

/// The profile of the root manifest for shipped modules.
const PROFILE: &str = "wasm";

/// LLVM inlines functions marked `#[inline]`, such as most small functions of the standard library, up to a cost of 325, even
/// when it optimizes for size. The limit for other functions is then 50; this flag sets it for all.
const INLINE: &str = "-Cllvm-args=-inlinehint-threshold=50";

/// The result of compiling an artifact.
pub(crate) struct Linked {
    /// The module, with all its exports.
    pub(crate) module: PathBuf,
    /// The packages that were compiled into it, without those of the standard library.
    pub(crate) packages: BTreeSet<PackageId>,
}

/// Returns the metadata of every package that Cargo could use for wasm32, whether or not an artifact contains it.
pub(crate) fn metadata() -> anyhow::Result<Metadata> {
    MetadataCommand::new()
        .cargo_path(wrapper())
        .current_dir(repository())
        .other_options([format!("--filter-platform={TARGET}")])
        .exec()
        .context("cannot read Cargo's metadata")
}

/// Returns the version of the wasm32 toolchain and its standard library, such as `1.95.0`.
pub(crate) fn version() -> anyhow::Result<String> {
    let output = Command::new(wrapper()).arg("--version").output()?;
    let output_text = String::from_utf8(output.stdout)?;
    let version = output_text
        .split(' ')
        .nth(1)
        .context("`cargo --version` printed no version")?;
    Ok(version.trim_end().to_owned())
}

/// Compiles one artifact below the folder `target`.
pub(crate) fn compile(artifact: &Artifact, target: &Path, metadata: &Metadata) -> anyhow::Result<Linked> {
    let mut cargo = Command::new(wrapper())
        .args(["rustc", "--message-format=json-render-diagnostics"])
        // In a terminal cargo shows its progress: the first build takes minutes.
        .args((!io::stderr().is_terminal()).then_some("--quiet"))
        .args(["--profile", PROFILE, "--package", "burst-metrics", "--lib"])
        // Only the cdylib: Cargo omits link-time optimization if it also builds the library that the tests link.
        .args(["--crate-type", "cdylib"])
        .args(artifact.feature.map(|feature| format!("--features={feature}")))
        .env("CARGO_TARGET_DIR", target)
        // Without it `build.rs` refuses to compile for wasm32.
        .env("BURST_METRICS_XTASK", "1")
        .env("CARGO_ENCODED_RUSTFLAGS", flags(metadata).join("\x1f"))
        .current_dir(repository())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run setup/wasm-cargo")?;
    let messages = cargo.stdout.take().context("no output of setup/wasm-cargo")?;
    let mut packages = BTreeSet::new();
    for message in Message::parse_stream(BufReader::new(messages)) {
        // Build scripts and macros are compiled to another folder.
        if let Message::CompilerArtifact(compiled) = message?
            && compiled
                .filenames
                .iter()
                .any(|file| file.starts_with(target.join(TARGET)))
        {
            packages.insert(compiled.package_id);
        }
    }
    ensure!(cargo.wait()?.success(), "compiling {} failed", artifact.file);
    Ok(Linked {
        module: target.join(TARGET).join(PROFILE).join("burst_metrics.wasm"),
        packages,
    })
}

/// Returns the compiler flags. They replace `RUSTFLAGS`, which could make the module differ between machines.
fn flags(metadata: &Metadata) -> Vec<String> {
    let mut flags = remap_sources(metadata);
    flags.push(INLINE.to_owned());
    flags
}

/// Returns flags that keep the paths of the dependencies' sources on this machine out of the panic messages.
fn remap_sources(metadata: &Metadata) -> Vec<String> {
    let registry = |package: &&cargo_metadata::Package| package.source.is_some();
    let folders: BTreeSet<_> = metadata
        .packages
        .iter()
        .filter(registry)
        .filter_map(|package| package.manifest_path.ancestors().nth(2))
        .collect();
    folders
        .into_iter()
        .map(|folder| format!("--remap-path-prefix={folder}=deps"))
        .collect()
}

fn wrapper() -> PathBuf {
    repository().join("setup/wasm-cargo")
}

/// Returns the root of the checkout.
pub(crate) fn repository() -> &'static Path {
    let manifest_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest_folder.parent().unwrap_or(manifest_folder)
}
