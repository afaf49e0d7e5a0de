//! An image as a folder, as an [OCI image layout](https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md).

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde::Serialize;

use super::{
    TAG,
    manifest::{Descriptor, MANIFEST, Manifest},
};

/// The folder of an image, with blobs but without an index.
pub(super) struct ImageLayout(PathBuf);

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Index {
    schema_version: u8,
    media_type: &'static str,
    manifests: [Descriptor; 1],
}

impl ImageLayout {
    /// Makes an empty layout, and removes the contents of `folder`.
    pub(super) fn create(folder: &Path) -> anyhow::Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        let blobs = folder.join("blobs/sha256");
        fs::create_dir_all(&blobs).with_context(|| blobs.display().to_string())?;
        Ok(Self(folder.to_owned()))
    }

    /// Writes a blob under its digest.
    pub(super) fn put(&self, media_type: &'static str, bytes: &[u8]) -> anyhow::Result<Descriptor> {
        let descriptor = Descriptor::of(media_type, bytes);
        let file = descriptor.digest.replace(':', "/");
        fs::write(self.0.join("blobs").join(file), bytes)?;
        Ok(descriptor)
    }

    /// Writes the index, with the tag of this version.
    pub(super) fn finish(self, manifest: &Manifest) -> anyhow::Result<Descriptor> {
        let image = self.put(MANIFEST, &serde_json::to_vec(manifest)?)?;
        let index = Index {
            schema_version: 2,
            media_type: "application/vnd.oci.image.index.v1+json",
            manifests: [image.clone().annotated("org.opencontainers.image.ref.name", TAG)],
        };
        fs::write(self.0.join("index.json"), serde_json::to_vec(&index)?)?;
        fs::write(self.0.join("oci-layout"), br#"{"imageLayoutVersion":"1.0.0"}"#)?;
        Ok(image)
    }
}
