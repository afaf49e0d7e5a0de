//! The software bill of materials (SBOM) of a module, as [CycloneDX](https://cyclonedx.org/docs/1.5/json).
//!
//! It contains the packages that Cargo reports as compiled. `cargo-cyclonedx` also lists macros, which are not in the module,
//! writes the checkout's path into the SBOM, and a file into the source folder of every crate.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use cargo_metadata::{DependencyKind, Metadata, Package, PackageId};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{cargo, digest::sha256, wasm::Module};

/// A component of a module.
#[derive(Serialize)]
struct Component {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(rename = "bom-ref")]
    reference: String,
    name: String,
    version: String,
    licenses: [Value; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    purl: Option<String>,
}

/// The dependencies of each package in the module.
type Uses<'a> = BTreeMap<&'a PackageId, BTreeSet<&'a PackageId>>;

/// Returns the SBOM of `module`, whose bytes are `wasm`, as JSON. It has no time and no serial number, so the same module has
/// the same SBOM.
pub(crate) fn generate(name: &str, wasm: &[u8], module: &Module, metadata: &Metadata) -> anyhow::Result<Vec<u8>> {
    let root = metadata.root_package().context("the workspace has no root package")?;
    let uses = uses(root, module, metadata)?;
    let std = standard_library(cargo::version()?);
    let mut subject = serde_json::to_value(component(root))?;
    subject["name"] = json!(name);
    subject["hashes"] = json!([{"alg": "SHA-256", "content": sha256(wasm)}]);
    let sbom = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": subject},
        "dependencies": dependencies(root, &std, &uses, metadata),
        "components": components(root, std, &uses, metadata),
    });
    Ok(serde_json::to_vec_pretty(&sbom)?)
}

/// Returns the compiled dependencies of `root`. If the standard library was compiled too, its dependencies are not
/// included.
fn uses<'a>(root: &'a Package, module: &Module, metadata: &'a Metadata) -> anyhow::Result<Uses<'a>> {
    let resolve = metadata.resolve.as_ref().context("Cargo resolved no dependencies")?;
    let nodes: BTreeMap<_, _> = resolve.nodes.iter().map(|node| (&node.id, node)).collect();
    let mut uses = Uses::new();
    let mut queue = vec![&root.id];
    while let Some(id) = queue.pop() {
        let used: BTreeSet<_> = nodes[id]
            .deps
            .iter()
            .filter(|used| used.dep_kinds.iter().any(|why| why.kind == DependencyKind::Normal))
            .map(|used| &used.pkg)
            .filter(|used| module.packages.contains(used))
            .collect();
        if !uses.contains_key(id) {
            queue.extend(&used);
            uses.insert(id, used);
        }
    }
    Ok(uses)
}

fn components(root: &Package, std: Component, uses: &Uses<'_>, metadata: &Metadata) -> Vec<Component> {
    let mut components: Vec<_> = uses
        .keys()
        .filter(|id| **id != &root.id)
        .map(|id| component(&metadata[id]))
        .chain([std])
        .collect();
    components.sort_by(|a, b| a.reference.cmp(&b.reference));
    components
}

fn dependencies(root: &Package, std: &Component, uses: &Uses<'_>, metadata: &Metadata) -> Vec<Value> {
    let mut used_by_reference: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (user, used) in uses {
        let references = used.iter().map(|id| reference(&metadata[id])).collect();
        used_by_reference.insert(reference(&metadata[user]), references);
    }
    used_by_reference
        .entry(reference(root))
        .or_default()
        .insert(std.reference.clone());
    used_by_reference.insert(std.reference.clone(), BTreeSet::new());
    used_by_reference
        .into_iter()
        .map(|(user, used)| json!({"ref": user, "dependsOn": used}))
        .collect()
}

fn component(package: &Package) -> Component {
    Component {
        kind: "library",
        reference: reference(package),
        name: package.name.to_string(),
        version: package.version.to_string(),
        licenses: [expression(package.license.as_deref().unwrap_or("NOASSERTION"))],
        purl: package.source.is_some().then(|| reference(package)),
    }
}

/// Every module contains the standard library, and Cargo does not report it.
fn standard_library(version: String) -> Component {
    Component {
        kind: "library",
        reference: format!("rust-std@{version}"),
        name: "rust-std".to_owned(),
        version,
        licenses: [expression("MIT OR Apache-2.0")],
        purl: None,
    }
}

/// Returns the [package URL](https://github.com/package-url/purl-spec).
fn reference(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

/// Old crates write a slash instead of OR.
fn expression(license: &str) -> Value {
    json!({"expression": license.replace('/', " OR ")})
}
