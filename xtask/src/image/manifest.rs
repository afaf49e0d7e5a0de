//! The JSON documents of an image, by the [OCI image specification].
//!
//! The crate `oci-spec` is not used, because it has annotations in a hash map: their order and so the digest would differ
//! in each run.
//!
//! [OCI image specification]: https://github.com/opencontainers/image-spec/blob/v1.1.1/manifest.md

use std::collections::BTreeMap;

use crate::digest::sha256;
use serde::Serialize;

pub(super) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(super) const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
pub(super) const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
/// The configuration of an artifact that is no container image: `{}`.
pub(super) const EMPTY: &str = "application/vnd.oci.empty.v1+json";

/// Annotations that registries show.
pub(super) type Annotations = BTreeMap<&'static str, String>;

/// A reference to a blob by its digest.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    pub(super) media_type: &'static str,
    /// `sha256:` and 64 hexadecimal digits.
    pub(super) digest: String,
    pub(super) size: usize,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) annotations: Annotations,
}

impl Descriptor {
    pub(super) fn of(media_type: &'static str, bytes: &[u8]) -> Self {
        Self {
            media_type,
            digest: digest(bytes),
            size: bytes.len(),
            annotations: Annotations::new(),
        }
    }

    pub(super) fn annotated(mut self, name: &'static str, value: &str) -> Self {
        self.annotations.insert(name, value.to_owned());
        self
    }
}

/// The contents of an image. The digest of the manifest is the digest of the image.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Manifest {
    pub(super) schema_version: u8,
    pub(super) media_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) artifact_type: Option<&'static str>,
    pub(super) config: Descriptor,
    pub(super) layers: Vec<Descriptor>,
    /// The image that this one describes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) subject: Option<Descriptor>,
    pub(super) annotations: Annotations,
}

/// The platform, and the digests of the uncompressed layers.
#[derive(Debug, Serialize)]
pub(super) struct Config {
    pub(super) architecture: &'static str,
    pub(super) os: &'static str,
    pub(super) rootfs: RootFs,
}

#[derive(Debug, Serialize)]
pub(super) struct RootFs {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) diff_ids: Vec<String>,
}

impl RootFs {
    pub(super) fn of(layer: &[u8]) -> Self {
        Self {
            kind: "layers",
            diff_ids: vec![digest(layer)],
        }
    }
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", sha256(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_configuration_has_the_digest_that_the_specification_gives() {
        let empty = Descriptor::of(EMPTY, b"{}");
        assert_eq!(
            empty.digest,
            "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
        );
    }
}
