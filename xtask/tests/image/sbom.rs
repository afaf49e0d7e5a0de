//! The SBOM, read with CycloneDX' own library.

use std::{collections::BTreeSet, fs};

use burst_testkit::{image, wasm};
use cyclonedx_bom::{
    prelude::{Bom, SpecVersion, Validate as _},
    validation::ValidationResult,
};
use sha2::{Digest as _, Sha256};

use crate::FILTERS;

fn sbom(filter: &str) -> Bom {
    let json = fs::read(image(&format!("{filter}.cdx.json"))).unwrap();
    Bom::parse_from_json(json.as_slice()).unwrap()
}

fn names(sbom: &Bom) -> BTreeSet<String> {
    let components = &sbom.components.as_ref().unwrap().0;
    components.iter().map(|component| component.name.to_string()).collect()
}

#[test]
fn it_is_valid_cyclonedx() {
    for filter in FILTERS {
        let result: ValidationResult = sbom(filter).validate_version(SpecVersion::V1_5);
        assert!(result.passed(), "{filter}: {result:?}");
    }
}

#[test]
fn it_lists_the_packages_in_the_module_and_no_macros() {
    for filter in FILTERS {
        let names = names(&sbom(filter));
        for there in ["burst-model", "proxy-wasm", "rust-std", "serde_json"] {
            assert!(names.contains(there), "{filter}: {there} is not in {names:?}");
        }
        for absent in ["burst-lab", "proc-macro2", "serde_derive", "syn", "walrus"] {
            assert!(!names.contains(absent), "{filter}: {absent} is in {names:?}");
        }
    }
}

#[test]
fn it_has_the_digest_of_the_module() {
    for filter in FILTERS {
        let sbom = sbom(filter);
        let subject = sbom.metadata.unwrap().component.unwrap();
        let digest = Sha256::digest(fs::read(wasm(&format!("{filter}.wasm"))).unwrap());
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(subject.name.to_string(), filter);
        assert_eq!(
            subject.hashes.unwrap().0[0].content.0,
            digest,
            "run `cargo xtask image`"
        );
    }
}

#[test]
fn it_has_the_dependencies_of_each_listed_package_and_of_no_other() {
    for filter in FILTERS {
        let sbom = sbom(filter);
        let subject = sbom.metadata.unwrap().component.unwrap();
        let components = sbom.components.unwrap().0;
        let listed = components.into_iter().chain([subject]).map(|one| one.bom_ref.unwrap());
        let listed: BTreeSet<_> = listed.collect();
        let dependencies = sbom.dependencies.unwrap().0;
        let users: BTreeSet<_> = dependencies.iter().map(|one| one.dependency_ref.clone()).collect();
        let used: BTreeSet<_> = dependencies.into_iter().flat_map(|one| one.dependencies).collect();
        assert_eq!(users, listed, "{filter}");
        assert!(used.is_subset(&listed), "{filter}: {used:?}");
        assert_eq!(
            used.len() + 1,
            listed.len(),
            "{filter}: nothing uses some of {listed:?}"
        );
    }
}
