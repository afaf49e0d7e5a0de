//! The modules that are built from the crate, and the exports of each.
//!
//! A host calls the callbacks that a module exports. A callback that is not exported counts as "continue", and the host does
//! not enter the VM ([proxy-wasm-cpp-host], `WasmBase::getFunctions` and `ContextBase`). The SDK exports every callback, so an
//! unused one costs time in each request. No configuration can disable an export.
//!
//! [proxy-wasm-cpp-host]: https://github.com/proxy-wasm/proxy-wasm-cpp-host/blob/main/src/wasm.cc

/// A module: its file, how it is compiled, and its exports.
pub(crate) struct Artifact {
    /// File name under `target/wasm/`.
    pub(crate) file: &'static str,
    /// The Cargo feature of the root package that it needs, if any.
    pub(crate) feature: Option<&'static str>,
    /// The callbacks of a stream, in addition to the [`LIFECYCLE`] of every module.
    pub(crate) stream: &'static [&'static str],
}

/// The exports that a host needs to run a module, and the callbacks of a root context.
pub(crate) const LIFECYCLE: &[&str] = &[
    "memory",
    "_initialize",
    "proxy_abi_version_0_2_1",
    "malloc",
    "proxy_on_context_create",
    "proxy_on_configure",
    "proxy_on_tick",
    "proxy_on_queue_ready",
    "proxy_on_http_call_response",
];

/// A request, its response, and the end of the stream, which counting requests in flight needs.
const FULL_STREAM: &[&str] = &[
    "proxy_on_request_headers",
    "proxy_on_response_headers",
    "proxy_on_response_body",
    "proxy_on_delete",
];

/// The prefix of our callbacks. Each replaces the SDK's callback of the same name with [`SDK_PREFIX`].
pub(crate) const OWN_PREFIX: &str = "own_";
pub(crate) const SDK_PREFIX: &str = "proxy_";

impl Artifact {
    /// All modules.
    pub(crate) const ALL: [Self; 3] = [
        Self {
            file: "burst-metrics.wasm",
            feature: None,
            stream: FULL_STREAM,
        },
        Self {
            file: "burst-metrics-header.wasm",
            feature: Some("header-only"),
            stream: &["proxy_on_response_headers"],
        },
        Self {
            file: "burst-metrics-trap.wasm",
            feature: Some("test-trap"),
            stream: FULL_STREAM,
        },
    ];

    /// The modules for users: all but the one that traps.
    pub(crate) const SHIPPED: [Self; 2] = {
        let [full, header, _trap] = Self::ALL;
        [full, header]
    };

    /// Returns the name of the module, its images and its SBOM.
    pub(crate) fn name(&self) -> &'static str {
        self.file.trim_end_matches(".wasm")
    }

    /// Returns whether the module keeps an export.
    pub(crate) fn keeps(&self, export: &str) -> bool {
        self.exports().any(|name| name == export)
    }

    /// Returns all its exports.
    pub(crate) fn exports(&self) -> impl Iterator<Item = &'static str> {
        LIFECYCLE.iter().chain(self.stream).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_only_module_has_no_callback_for_requests_or_the_end_of_a_stream() {
        let [_, header] = Artifact::SHIPPED;
        assert!(header.keeps("proxy_on_response_headers"));
        assert!(!header.exports().any(|export| export.contains("request")));
        assert!(!header.keeps("proxy_on_delete"));
    }

    #[test]
    fn the_module_that_traps_does_not_ship() {
        assert!(
            Artifact::SHIPPED
                .iter()
                .all(|artifact| artifact.feature != Some("test-trap"))
        );
    }
}
