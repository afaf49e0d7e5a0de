//! Cargo for wasm32: what it knows of the packages, and what it compiles of them.

use std::{
    collections::BTreeSet,
    io::BufReader,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, ensure};
use cargo_metadata::{Message, Metadata, MetadataCommand, PackageId};

use crate::artifact::Artifact;

const TARGET: &str = "wasm32-unknown-unknown";

/// Of the root manifest: for what ships as Wasm.
const PROFILE: &str = "wasm";

/// What is marked `#[inline]`, most small functions of the standard library among them, LLVM puts in place of a call where
/// it is up to 325 large, also in code made for size, which has 50 for everything else. Here it has 50 too.
const INLINE: &str = "-Cllvm-args=-inlinehint-threshold=50";

/// What Cargo made of one artifact.
pub(crate) struct Linked {
    /// The module, with all its exports.
    pub(crate) module: PathBuf,
    /// The packages that were compiled into it. The standard library's are left to [`version`].
    pub(crate) packages: BTreeSet<PackageId>,
}

/// Every package that Cargo would take for wasm32, whether or not one of our artifacts has it.
pub(crate) fn metadata() -> anyhow::Result<Metadata> {
    MetadataCommand::new()
        .cargo_path(wrapper())
        .current_dir(repository())
        .other_options([format!("--filter-platform={TARGET}")])
        .exec()
        .context("cannot read Cargo's metadata")
}

/// The version of the toolchain that compiles to wasm32, as `1.95.0`: its standard library has the same.
pub(crate) fn version() -> anyhow::Result<String> {
    let output = Command::new(wrapper()).arg("--version").output()?;
    let words = String::from_utf8(output.stdout)?;
    let version = words.split(' ').nth(1).context("`cargo --version` says no version")?;
    Ok(version.trim_end().to_owned())
}

/// Compiles one artifact below the folder `target`.
pub(crate) fn compile(artifact: &Artifact, target: &Path, metadata: &Metadata) -> anyhow::Result<Linked> {
    let mut cargo = Command::new(wrapper())
        .args(["rustc", "--quiet", "--message-format=json-render-diagnostics"])
        .args(["--profile", PROFILE, "--package", "burst-metrics", "--lib"])
        // Without the library that the tests link: where one is made too, Cargo leaves link-time optimisation out.
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
        // What runs on this machine, such as a macro, is compiled to another folder.
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

/// Compiler flags. They take the place of `RUSTFLAGS`, with which two machines would make two modules of one source.
fn flags(metadata: &Metadata) -> Vec<String> {
    let mut flags = nameless_sources(metadata);
    flags.push(INLINE.to_owned());
    flags
}

/// Flags that keep the place of the dependencies' sources on this machine out of the module: a panic message names its
/// file.
fn nameless_sources(metadata: &Metadata) -> Vec<String> {
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

/// The root of the checkout.
pub(crate) fn repository() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}
