//! The modules made from the one crate, and what each exports.
//!
//! A host calls what a module exports, and an absent callback counts as "go on", without a step into the VM
//! ([proxy-wasm-cpp-host], `WasmBase::getFunctions` and `ContextBase`). The SDK exports every callback it knows, so an
//! unused one costs a request each time. Configuration cannot switch an export off; only the module itself can.
//!
//! [proxy-wasm-cpp-host]: https://github.com/proxy-wasm/proxy-wasm-cpp-host/blob/main/src/wasm.cc

/// One module: the file it becomes, how it is compiled, what it keeps.
pub(crate) struct Artifact {
    /// File name under `target/wasm/`.
    pub(crate) file: &'static str,
    /// Cargo feature of the root package, if it has one of its own.
    pub(crate) feature: Option<&'static str>,
    /// Callbacks of a request, beside the [`LIFE`] of every module.
    pub(crate) stream: &'static [&'static str],
}

/// What a host needs to run a module at all, and the callbacks of a root context.
pub(crate) const LIFE: &[&str] = &[
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

/// Beside both ways of a request its end: one that is under way may be counted.
const BOTH_WAYS: &[&str] = &[
    "proxy_on_request_headers",
    "proxy_on_response_headers",
    "proxy_on_delete",
];

/// Exports with this in front take the place of the SDK's of the same name with [`THEIRS`] in front (`src/dispatch.rs`).
pub(crate) const OURS: &str = "own_";
pub(crate) const THEIRS: &str = "proxy_";

impl Artifact {
    /// Everything there is.
    pub(crate) const ALL: [Self; 3] = [
        Self {
            file: "burst-metrics.wasm",
            feature: None,
            stream: BOTH_WAYS,
        },
        Self {
            file: "burst-metrics-header.wasm",
            feature: Some("header-only"),
            stream: &["proxy_on_response_headers"],
        },
        Self {
            file: "burst-metrics-trap.wasm",
            feature: Some("test-trap"),
            stream: BOTH_WAYS,
        },
    ];

    /// What users get: all but the one that traps.
    pub(crate) const SHIPPED: [Self; 2] = {
        let [full, header, _trap] = Self::ALL;
        [full, header]
    };

    /// What the module, its images and its bill of materials are called.
    pub(crate) fn name(&self) -> &'static str {
        self.file.trim_end_matches(".wasm")
    }

    /// Whether a module of this kind keeps the export of that name.
    pub(crate) fn keeps(&self, export: &str) -> bool {
        self.exports().any(|kept| kept == export)
    }

    /// Every export of this artifact.
    pub(crate) fn exports(&self) -> impl Iterator<Item = &'static str> {
        LIFE.iter().chain(self.stream).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_only_module_has_no_request_path_and_hears_of_no_end() {
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
