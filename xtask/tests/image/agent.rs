//! Istio's agent can fetch the images.

use std::fs;

use burst_testkit::wasm;

use crate::{FILTERS, registry::Registry};

fn module(filter: &str) -> Vec<u8> {
    fs::read(wasm(&format!("{filter}.wasm"))).unwrap()
}

#[test]
fn istios_agent_fetches_both_filters_from_both_forms_of_image() {
    let registry = Registry::start();
    for filter in FILTERS {
        for layout in [filter.to_owned(), format!("{filter}-artifact")] {
            let digest = registry.push(&layout, &layout);
            let by_tag = registry.fetch(&format!("{layout}:1"), Some(&digest));
            let by_digest = registry.fetch(&format!("{layout}@sha256:{digest}"), None);
            let module = Ok(module(filter));
            assert!(by_tag == module, "{layout}: another module; run `cargo xtask image`");
            assert!(by_digest == module, "{layout}: another module by its digest");
        }
    }
}

#[test]
fn istios_agent_refuses_an_image_with_another_sha256() {
    let registry = Registry::start();
    let digest = registry.push("burst-metrics", "filter");
    registry.push("burst-metrics-header", "filter");
    let refusal = registry.fetch("filter:1", Some(&digest)).unwrap_err();
    assert!(refusal.contains("which does not match"), "{refusal}");
}

#[test]
fn a_registry_lists_the_sbom_of_an_image() {
    let registry = Registry::start();
    for filter in FILTERS {
        let image = registry.push(filter, filter);
        let sbom = registry.push(&format!("{filter}-sbom"), &format!("{filter}-sbom"));
        let about = registry.manifest(&format!("{filter}-sbom:sha256-{image}"));
        assert!(about.contains(&sbom), "{about}");
    }
}
