//! The filter as OCI images for Istio's agent, each as an image layout in its own folder, which `crane push`, `skopeo copy
//! oci:` and `oras cp --from-oci-layout` can read. The build needs neither Docker nor a network.
//!
//! The images contain no date and nothing of the machine: the same module has the same digests.

mod form;
mod layout;
mod manifest;

use std::{fs, path::Path};

use cargo_metadata::Metadata;

use crate::{
    artifact::Artifact,
    cargo, sbom,
    wasm::{self, Module},
};
use form::Form;
use manifest::Descriptor;

/// The tag of the images: the version of the workspace.
const TAG: &str = env!("CARGO_PKG_VERSION");

/// Builds the modules, and the images and the SBOM of each, under `target/image/`.
pub(crate) fn build() -> anyhow::Result<()> {
    let metadata = cargo::metadata()?;
    let folder = wasm::target_folder().join("image");
    for module in wasm::build(&Artifact::SHIPPED, &metadata)? {
        pack(&module, &metadata, &folder)?;
    }
    Ok(())
}

fn pack(module: &Module, metadata: &Metadata, folder: &Path) -> anyhow::Result<()> {
    let name = module.artifact.name();
    let wasm = fs::read(&module.path)?;
    let sbom = sbom::generate(name, &wasm, module, metadata)?;
    let image = write(&Form::Scratch { wasm: &wasm }, &folder.join(name), name)?;
    write(
        &Form::TwoLayers { wasm: &wasm },
        &folder.join(format!("{name}-artifact")),
        name,
    )?;
    fs::write(folder.join(format!("{name}.cdx.json")), &sbom)?;
    let about = Form::Sbom {
        json: &sbom,
        subject: image,
    };
    write(&about, &folder.join(format!("{name}-sbom")), name)?;
    Ok(())
}

/// Writes an image and prints its digest as `make deploy` expects it.
fn write(form: &Form<'_>, folder: &Path, title: &str) -> anyhow::Result<Descriptor> {
    let image = form.write(folder, title)?;
    println!("{}: DIGEST={}", folder.display(), image.digest);
    Ok(image)
}
