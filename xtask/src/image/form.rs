//! The forms of an image that [Istio's agent](https://github.com/istio/istio/blob/master/pkg/wasm/imagefetcher.go) takes
//! a module from, and the one that a bill of materials travels in.

use std::path::Path;

use flate2::{Compression, GzBuilder};
use serde_json::json;

use super::{
    TAG,
    layout::Layout,
    manifest::{Annotations, CONFIG, Config, Descriptor, EMPTY, LAYER, MANIFEST, Manifest, RootFs},
};

/// [Solo's specification](https://github.com/solo-io/wasm/blob/master/spec/spec.md) of the two layers.
const RUNTIME_CONFIG: &str = "application/vnd.module.wasm.config.v1+json";
const MODULE: &str = "application/vnd.module.wasm.content.layer.v1+wasm";
const CYCLONEDX: &str = "application/vnd.cyclonedx+json";
const TITLE: &str = "org.opencontainers.image.title";

/// What is in an image, and how.
pub(super) enum Form<'a> {
    /// An image like any other, as `FROM scratch` and `COPY … /plugin.wasm` make one.
    Scratch { wasm: &'a [u8] },
    /// The module as it is, beside a few words on the host it is for. The agent wants exactly these two layers.
    TwoLayers { wasm: &'a [u8] },
    /// A bill of materials. A registry lists it among what refers to the image.
    Bill { json: &'a [u8], of: Descriptor },
}

impl Form<'_> {
    /// Writes the image as an OCI layout; what was in `folder` is replaced.
    pub(super) fn write(&self, folder: &Path, title: &str) -> anyhow::Result<Descriptor> {
        let layout = Layout::create(folder)?;
        let (config, layers) = match self {
            Self::Scratch { wasm } => scratch(&layout, wasm)?,
            Self::TwoLayers { wasm } => (layout.put(EMPTY, b"{}")?, two_layers(&layout, wasm)?),
            Self::Bill { json, .. } => {
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

    /// What it is, where the configuration does not say it.
    fn artifact_type(&self) -> Option<&'static str> {
        match self {
            Self::Scratch { .. } => None,
            Self::TwoLayers { .. } => Some(MODULE),
            Self::Bill { .. } => Some(CYCLONEDX),
        }
    }

    fn subject(&self) -> Option<Descriptor> {
        match self {
            Self::Scratch { .. } | Self::TwoLayers { .. } => None,
            Self::Bill { of, .. } => Some(of.clone()),
        }
    }
}

fn scratch(layout: &Layout, wasm: &[u8]) -> anyhow::Result<(Descriptor, Vec<Descriptor>)> {
    let tar = tar("plugin.wasm", wasm)?;
    let config = Config {
        // A module runs anywhere. This is what a tool that copies images for its own platform expects of one.
        architecture: "amd64",
        os: "linux",
        rootfs: RootFs::of(&tar),
    };
    let config = layout.put(CONFIG, &serde_json::to_vec(&config)?)?;
    Ok((config, vec![layout.put(LAYER, &gzip(&tar)?)?]))
}

fn two_layers(layout: &Layout, wasm: &[u8]) -> anyhow::Result<Vec<Descriptor>> {
    let host = json!({
        "abiVersions": ["v0.2.1"],
        "config": {"root_ids": ["burst-metrics"]},
        "type": "envoy_proxy",
    });
    let host = layout.put(RUNTIME_CONFIG, host.to_string().as_bytes())?;
    let module = layout.put(MODULE, wasm)?;
    Ok(vec![
        host.annotated(TITLE, "runtime-config.json"),
        module.annotated(TITLE, "plugin.wasm"),
    ])
}

/// An archive of one file, which belongs to root and is from 1970.
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

/// With neither a time nor a system in the header.
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
    fn neither_header_of_a_layer_has_a_time_an_owner_or_a_system() {
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
    fn one_module_gives_one_digest_each_time_and_another_module_another() {
        let folder = tempfile::tempdir().unwrap();
        let write = |wasm| {
            let forms = [
                Form::Scratch { wasm },
                Form::TwoLayers { wasm },
                Form::Bill {
                    json: wasm,
                    of: Descriptor::of(MANIFEST, b"an image"),
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
    fn the_blobs_are_named_by_their_bytes_and_what_was_there_before_is_gone() {
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
