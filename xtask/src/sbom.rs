//! A list of what is in a module, in the form of [CycloneDX](https://cyclonedx.org/docs/1.5/json).
//!
//! Made here, of what Cargo says that it compiled. `cargo-cyclonedx` lists macros too, of which nothing is in the module,
//! writes the checkout's path into the list, and a file into the source folder of every crate.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use cargo_metadata::{DependencyKind, Metadata, Node, Package};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{cargo, image::sha256, wasm::Module};

/// One thing that is in a module.
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

/// The bill of materials of `module`, whose bytes are `wasm`, as JSON. It has no time and no serial number: the same
/// module gives the same bill.
pub(crate) fn bill(name: &str, wasm: &[u8], module: &Module, metadata: &Metadata) -> anyhow::Result<Vec<u8>> {
    let (own, others): (Vec<_>, Vec<_>) = metadata
        .packages
        .iter()
        .filter(|package| module.packages.contains(&package.id))
        .partition(|package| package.name == "burst-metrics");
    let own = own.first().context("the module is not made of burst-metrics")?;
    let std = standard_library(cargo::version()?);
    let mut uses = uses(module, metadata)?;
    uses.entry(reference(own)).or_default().insert(std.reference.clone());
    uses.insert(std.reference.clone(), BTreeSet::new());
    let dependencies: Vec<_> = uses
        .into_iter()
        .map(|(user, used)| json!({"ref": user, "dependsOn": used}))
        .collect();
    let mut components: Vec<_> = others.into_iter().map(component).collect();
    components.push(std);
    components.sort_by(|a, b| a.reference.cmp(&b.reference));
    let mut subject = serde_json::to_value(component(own))?;
    subject["name"] = json!(name);
    subject["hashes"] = json!([{"alg": "SHA-256", "content": sha256(wasm)}]);
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": subject},
        "components": components,
        "dependencies": dependencies,
    });
    Ok(serde_json::to_vec_pretty(&bill)?)
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

/// Cargo does not name it, and it is in every module.
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

/// Who uses whom, of what is in the module.
fn uses(module: &Module, metadata: &Metadata) -> anyhow::Result<BTreeMap<String, BTreeSet<String>>> {
    let resolve = metadata.resolve.as_ref().context("Cargo resolved no dependencies")?;
    Ok(resolve
        .nodes
        .iter()
        .filter(|node| module.packages.contains(&node.id))
        .map(|node| (reference(&metadata[&node.id]), used_by(node, module, metadata)))
        .collect())
}

fn used_by(node: &Node, module: &Module, metadata: &Metadata) -> BTreeSet<String> {
    node.deps
        .iter()
        .filter(|used| module.packages.contains(&used.pkg))
        .filter(|used| used.dep_kinds.iter().any(|why| why.kind == DependencyKind::Normal))
        .map(|used| reference(&metadata[&used.pkg]))
        .collect()
}

/// As a [package URL](https://github.com/package-url/purl-spec) has it.
fn reference(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

/// Crates of before 2018 write a slash for OR.
fn expression(license: &str) -> Value {
    json!({"expression": license.replace('/', " OR ")})
}
