//! The forms of an image from which [Istio's agent](https://github.com/istio/istio/blob/master/pkg/wasm/imagefetcher.go) can
//! take a module, and the one of an SBOM.

use std::path::Path;

use flate2::{Compression, GzBuilder};
use serde_json::json;

use super::{
    TAG,
    layout::ImageLayout,
    manifest::{Annotations, CONFIG, Config, Descriptor, EMPTY, LAYER, MANIFEST, Manifest, RootFs},
};

/// [Solo's specification](https://github.com/solo-io/wasm/blob/master/spec/spec.md) of the two layers.
const RUNTIME_CONFIG: &str = "application/vnd.module.wasm.config.v1+json";
const MODULE: &str = "application/vnd.module.wasm.content.layer.v1+wasm";
const CYCLONEDX: &str = "application/vnd.cyclonedx+json";
const TITLE: &str = "org.opencontainers.image.title";

/// The content of an image, and its form.
pub(super) enum Form<'a> {
    /// A container image with the module, as `FROM scratch` and `COPY … /plugin.wasm` build one.
    Scratch { wasm: &'a [u8] },
    /// The plain module, and a configuration for its host. The agent expects exactly these two layers.
    TwoLayers { wasm: &'a [u8] },
    /// An SBOM. A registry lists it as a referrer of the image.
    Sbom { json: &'a [u8], subject: Descriptor },
}

impl Form<'_> {
    /// Writes the image as an OCI layout, and replaces the contents of `folder`.
    pub(super) fn write(&self, folder: &Path, title: &str) -> anyhow::Result<Descriptor> {
        let layout = ImageLayout::create(folder)?;
        let (config, layers) = match self {
            Self::Scratch { wasm } => scratch(&layout, wasm)?,
            Self::TwoLayers { wasm } => (layout.put(EMPTY, b"{}")?, two_layers(&layout, wasm)?),
            Self::Sbom { json, .. } => {
                let layer = layout.put(CYCLONEDX, json)?;
                (layout.put(EMPTY, b"{}")?, vec![layer.annotated(TITLE, "bom.cdx.json")])
            }
        };
        layout.finish(&Manifest {
            schema_version: 2,
            media_type: MANIFEST,
            artifact_type: self.artifact_type(),
            config,
            layers,
            subject: self.subject(),
            annotations: annotations(title),
        })
    }

    /// Returns the artifact type, if the type of the configuration does not have that information.
    fn artifact_type(&self) -> Option<&'static str> {
        match self {
            Self::Scratch { .. } => None,
            Self::TwoLayers { .. } => Some(MODULE),
            Self::Sbom { .. } => Some(CYCLONEDX),
        }
    }

    fn subject(&self) -> Option<Descriptor> {
        match self {
            Self::Scratch { .. } | Self::TwoLayers { .. } => None,
            Self::Sbom { subject, .. } => Some(subject.clone()),
        }
    }
}

fn scratch(layout: &ImageLayout, wasm: &[u8]) -> anyhow::Result<(Descriptor, Vec<Descriptor>)> {
    let tar = tar("plugin.wasm", wasm)?;
    let config = Config {
        // A module runs on any platform, but tools that copy images for their own platform require one.
        architecture: "amd64",
        os: "linux",
        rootfs: RootFs::of(&tar),
    };
    let descriptor = layout.put(CONFIG, &serde_json::to_vec(&config)?)?;
    Ok((descriptor, vec![layout.put(LAYER, &gzip(&tar)?)?]))
}

fn two_layers(layout: &ImageLayout, wasm: &[u8]) -> anyhow::Result<Vec<Descriptor>> {
    let runtime_config = json!({
        "abiVersions": ["v0.2.1"],
        "config": {"root_ids": ["burst-metrics"]},
        "type": "envoy_proxy",
    });
    let host = layout.put(RUNTIME_CONFIG, runtime_config.to_string().as_bytes())?;
    let module = layout.put(MODULE, wasm)?;
    Ok(vec![
        host.annotated(TITLE, "runtime-config.json"),
        module.annotated(TITLE, "plugin.wasm"),
    ])
}

/// Returns an archive of one file, which belongs to root and dates from 1970.
fn tar(name: &str, content: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut header = tar::Header::new_ustar();
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(content.len() as u64);
    let mut archive = tar::Builder::new(Vec::new());
    archive.append_data(&mut header, name, content)?;
    Ok(archive.into_inner()?)
}

/// Compresses without a time or an operating system in the header.
fn gzip(bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    const NO_SYSTEM: u8 = 255;
    let header = GzBuilder::new().mtime(0).operating_system(NO_SYSTEM);
    let mut encoder = header.write(Vec::new(), Compression::best());
    std::io::Write::write_all(&mut encoder, bytes)?;
    Ok(encoder.finish()?)
}

fn annotations(title: &str) -> Annotations {
    Annotations::from([
        (TITLE, title.to_owned()),
        ("org.opencontainers.image.version", TAG.to_owned()),
        (
            "org.opencontainers.image.licenses",
            env!("CARGO_PKG_LICENSE").to_owned(),
        ),
    ])
}

#[cfg(test)]
mod tests {
    use std::fs;

    use flate2::read::GzDecoder;

    use super::*;

    const WASM: &[u8] = b"\0asm and so on";

    #[test]
    fn a_layer_has_no_time_no_owner_and_no_operating_system() {
        let layer = gzip(&tar("plugin.wasm", WASM).unwrap()).unwrap();
        let (time, system) = (&layer[4..8], layer[9]);
        assert_eq!((time, system), (&[0; 4][..], 255));
        let mut archive = tar::Archive::new(GzDecoder::new(&*layer));
        let file = archive.entries().unwrap().next().unwrap().unwrap();
        let header = file.header();
        assert_eq!(file.path().unwrap(), Path::new("plugin.wasm"));
        assert_eq!(
            (header.mtime().unwrap(), header.uid().unwrap(), header.gid().unwrap()),
            (0, 0, 0)
        );
        assert_eq!((header.username(), header.groupname()), (Ok(Some("")), Ok(Some(""))));
    }

    #[test]
    fn a_module_has_the_same_digest_each_time_and_another_module_another() {
        let folder = tempfile::tempdir().unwrap();
        let write = |wasm| {
            let forms = [
                Form::Scratch { wasm },
                Form::TwoLayers { wasm },
                Form::Sbom {
                    json: wasm,
                    subject: Descriptor::of(MANIFEST, b"an image"),
                },
            ];
            forms.map(|form| form.write(folder.path(), "title").unwrap().digest)
        };
        let first = write(WASM);
        assert_eq!(first, write(WASM));
        for (one, other) in first.iter().zip(write(b"\0asm and no more")) {
            assert_ne!(*one, other);
        }
    }

    #[test]
    fn blobs_are_named_by_their_digest_and_replace_the_contents_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        for wasm in [b"\0asm1".as_slice(), WASM] {
            Form::TwoLayers { wasm }.write(folder.path(), "title").unwrap();
        }
        let blobs: Vec<_> = fs::read_dir(folder.path().join("blobs/sha256")).unwrap().collect();
        assert_eq!(blobs.len(), 4, "a manifest, its configuration and two layers");
        for blob in blobs {
            let path = blob.unwrap().path();
            let digest = Descriptor::of(MODULE, &fs::read(&path).unwrap()).digest;
            assert!(digest.ends_with(path.file_name().unwrap().to_str().unwrap()));
        }
    }
}
