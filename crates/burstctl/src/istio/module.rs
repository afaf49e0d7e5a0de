//! Where Istio finds the Wasm module, and the checksum that it compares.

use super::values;

/// The location of a module. Every module that is fetched has a checksum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Module {
    /// Istio's agent fetches it: `oci://`, `https://` or `http://`.
    Fetched { url: String, sha256: String },
    /// A file on the proxy's own file system. It has no checksum.
    File { path: String },
}

/// Why `module` is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum InvalidModule {
    #[error("set one of image with digest, or url")]
    NotOneLocation,
    #[error("{image:?} is not a name such as registry.example.org/burst-metrics:0.1.0")]
    Image { image: String },
    #[error("is missing; without it the image changes when its tag is moved")]
    NoDigest,
    #[error("is missing; without it the file can change")]
    NoChecksum,
    #[error("{given:?} is not {allowed}")]
    NotAChecksum { given: String, allowed: &'static str },
    #[error("is the placeholder of istio/; replace it by the digest that the push printed")]
    Placeholder,
    #[error("belongs to {0}")]
    Belongs(&'static str),
    #[error("{url:?} is not http://…, https://… or file:///…")]
    Url { url: String },
}

/// The invalid field of `module` (empty for `module` itself), and why.
pub(super) type FieldError = (&'static str, InvalidModule);

impl Module {
    pub(super) fn check(values: values::ModuleValues) -> Result<Self, FieldError> {
        match values {
            values::ModuleValues {
                image: Some(image),
                url: None,
                digest,
                sha256,
            } => {
                unused("sha256", sha256.as_ref(), "url")?;
                from_image(image, digest)
            }
            values::ModuleValues {
                url: Some(url),
                image: None,
                digest,
                sha256,
            } => {
                unused("digest", digest.as_ref(), "image")?;
                from_url(url, sha256)
            }
            _ => Err(("", InvalidModule::NotOneLocation)),
        }
    }

    /// Returns the URL in the form that WasmPlugin and TrafficExtension expect.
    pub(super) fn url(&self) -> String {
        match self {
            Self::Fetched { url, .. } => url.clone(),
            Self::File { path } => format!("file://{path}"),
        }
    }

    pub(super) fn sha256(&self) -> Option<&str> {
        match self {
            Self::Fetched { sha256, .. } => Some(sha256),
            Self::File { .. } => None,
        }
    }
}

fn from_image(image: String, digest: Option<String>) -> Result<Module, FieldError> {
    let image = image.strip_prefix("oci://").map(str::to_owned).unwrap_or(image);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:/[]".contains(&byte);
    if image.is_empty() || !image.bytes().all(is_name) || image.contains("://") {
        return Err(("image", InvalidModule::Image { image }));
    }
    let digest = digest.ok_or(("digest", InvalidModule::NoDigest))?;
    let sha256 = digest
        .strip_prefix("sha256:")
        .and_then(checksum)
        .ok_or_else(|| not_a_checksum("digest", &digest, "sha256: with 64 hexadecimal digits"))?;
    fetched(format!("oci://{image}"), sha256, "digest")
}

fn from_url(url: String, sha256: Option<String>) -> Result<Module, FieldError> {
    if let Some(path) = url.strip_prefix("file://").filter(|path| path.starts_with('/')) {
        let path = path.to_owned();
        unused(
            "sha256",
            sha256.as_ref(),
            "a url that is fetched; a file is not checked",
        )?;
        return Ok(Module::File { path });
    }
    if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) {
        return Err(("url", InvalidModule::Url { url }));
    }
    let given = sha256.ok_or(("sha256", InvalidModule::NoChecksum))?;
    let sha256 = checksum(&given).ok_or_else(|| not_a_checksum("sha256", &given, "64 hexadecimal digits"))?;
    fetched(url, sha256, "sha256")
}

fn fetched(url: String, sha256: String, key: &'static str) -> Result<Module, FieldError> {
    if sha256.bytes().all(|byte| byte == b'0') {
        return Err((key, InvalidModule::Placeholder));
    }
    Ok(Module::Fetched { url, sha256 })
}

fn checksum(text: &str) -> Option<String> {
    let is_checksum = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_checksum.then(|| text.to_ascii_lowercase())
}

fn not_a_checksum(key: &'static str, given: &str, allowed: &'static str) -> FieldError {
    let given = given.to_owned();
    (key, InvalidModule::NotAChecksum { given, allowed })
}

fn unused(key: &'static str, value: Option<&String>, to: &'static str) -> Result<(), FieldError> {
    match value {
        Some(_) => Err((key, InvalidModule::Belongs(to))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &str) -> Result<String, String> {
        let module = Module::check(serde_json::from_str(values).unwrap());
        module
            .map(|module| format!("{} {}", module.url(), module.sha256().unwrap_or("unchecked")))
            .map_err(|(key, error)| format!("{key}: {error}"))
    }

    #[test]
    fn a_fetched_module_needs_a_checksum() {
        let hex = "AB".repeat(32);
        let low = "ab".repeat(32);
        let accepted = [
            (
                format!(r#"{{"image": "r:5/b:1", "digest": "sha256:{hex}"}}"#),
                format!("oci://r:5/b:1 {low}"),
            ),
            (
                format!(r#"{{"image": "oci://r/b", "digest": "sha256:{low}"}}"#),
                format!("oci://r/b {low}"),
            ),
            (
                format!(r#"{{"url": "https://h/b.wasm", "sha256": "{low}"}}"#),
                format!("https://h/b.wasm {low}"),
            ),
            (
                r#"{"url": "file:///b.wasm"}"#.to_owned(),
                "file:///b.wasm unchecked".to_owned(),
            ),
        ];
        for (values, expected) in accepted {
            assert_eq!(check(&values), Ok(expected), "{values}");
        }
        let refused = [
            ("{}".to_owned(), ": set one of"),
            (r#"{"image": "a", "url": "b"}"#.to_owned(), ": set one of"),
            (
                r#"{"image": "a b", "digest": ""}"#.to_owned(),
                "image: \"a b\" is not a name",
            ),
            (r#"{"image": "r/b:1"}"#.to_owned(), "digest: is missing"),
            (format!(r#"{{"image": "r/b", "digest": "{low}"}}"#), "digest: \"abab"),
            (
                format!(r#"{{"image": "r/b", "digest": "sha256:{}"}}"#, "0".repeat(64)),
                "digest: is the placeholder",
            ),
            (
                format!(r#"{{"image": "r/b", "sha256": "{low}"}}"#),
                "sha256: belongs to url",
            ),
            (r#"{"url": "https://h/b.wasm"}"#.to_owned(), "sha256: is missing"),
            (
                r#"{"url": "https://h/b.wasm", "sha256": "12"}"#.to_owned(),
                "sha256: \"12\" is not 64",
            ),
            (
                r#"{"url": "file://b.wasm"}"#.to_owned(),
                "url: \"file://b.wasm\" is not",
            ),
            (
                format!(r#"{{"url": "file:///b", "sha256": "{low}"}}"#),
                "sha256: belongs to a url that is fetched",
            ),
        ];
        for (values, message) in refused {
            let error = check(&values).unwrap_err();
            assert!(error.starts_with(message), "{values}: {error}");
        }
    }
}
