//! A list of what is in a module, in the form of [CycloneDX](https://cyclonedx.org/docs/1.5/json).
//!
//! Made here, of what Cargo says that it compiled. `cargo-cyclonedx` lists macros too, of which nothing is in the module,
//! writes the checkout's path into the list, and a file into the source folder of every crate.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use cargo_metadata::{DependencyKind, Metadata, Package, PackageId};
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

/// Who uses whom, of what is in the module.
type Uses<'a> = BTreeMap<&'a PackageId, BTreeSet<&'a PackageId>>;

/// The bill of materials of `module`, whose bytes are `wasm`, as JSON. It has no time and no serial number: the same
/// module gives the same bill.
pub(crate) fn bill(name: &str, wasm: &[u8], module: &Module, metadata: &Metadata) -> anyhow::Result<Vec<u8>> {
    let own = metadata
        .root_package()
        .context("the workspace has no package of its own")?;
    let uses = uses(own, module, metadata)?;
    let std = standard_library(cargo::version()?);
    let mut subject = serde_json::to_value(component(own))?;
    subject["name"] = json!(name);
    subject["hashes"] = json!([{"alg": "SHA-256", "content": sha256(wasm)}]);
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": subject},
        "dependencies": dependencies(own, &std, &uses, metadata),
        "components": components(own, std, &uses, metadata),
    });
    Ok(serde_json::to_vec_pretty(&bill)?)
}

/// What Cargo compiled and `own` leads to. Where the standard library is compiled too, what that uses is left out.
fn uses<'a>(own: &'a Package, module: &Module, metadata: &'a Metadata) -> anyhow::Result<Uses<'a>> {
    let resolve = metadata.resolve.as_ref().context("Cargo resolved no dependencies")?;
    let nodes: BTreeMap<_, _> = resolve.nodes.iter().map(|node| (&node.id, node)).collect();
    let mut uses = Uses::new();
    let mut open = vec![&own.id];
    while let Some(id) = open.pop() {
        let used: BTreeSet<_> = nodes[id]
            .deps
            .iter()
            .filter(|used| used.dep_kinds.iter().any(|why| why.kind == DependencyKind::Normal))
            .map(|used| &used.pkg)
            .filter(|used| module.packages.contains(used))
            .collect();
        if !uses.contains_key(id) {
            open.extend(&used);
            uses.insert(id, used);
        }
    }
    Ok(uses)
}

fn components(own: &Package, std: Component, uses: &Uses<'_>, metadata: &Metadata) -> Vec<Component> {
    let others = uses.keys().filter(|id| **id != &own.id);
    let others = others.map(|id| component(&metadata[id]));
    let mut components: Vec<_> = others.chain([std]).collect();
    components.sort_by(|a, b| a.reference.cmp(&b.reference));
    components
}

fn dependencies(own: &Package, std: &Component, uses: &Uses<'_>, metadata: &Metadata) -> Vec<Value> {
    let named = uses.iter().map(|(user, used)| {
        let used: BTreeSet<_> = used.iter().map(|id| reference(&metadata[id])).collect();
        (reference(&metadata[user]), used)
    });
    let mut named: BTreeMap<_, _> = named.collect();
    named.entry(reference(own)).or_default().insert(std.reference.clone());
    named.insert(std.reference.clone(), BTreeSet::new());
    let all = named.into_iter();
    all.map(|(user, used)| json!({"ref": user, "dependsOn": used}))
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

/// As a [package URL](https://github.com/package-url/purl-spec) has it.
fn reference(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

/// Crates of before 2018 write a slash for OR.
fn expression(license: &str) -> Value {
    json!({"expression": license.replace('/', " OR ")})
}
