//! Modules form a tree: no import circle is wider than a module and its children. A child may use its parent's types, and
//! siblings share through a third file.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// The modules of a crate, by their path in it, and the modules that each uses.
type Modules = BTreeMap<String, BTreeSet<String>>;

/// The text of each module of a crate, without comments and unit tests.
fn sources(folder: &Path, module: &str, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if name == "tests" {
            continue;
        }
        let child = match name.as_str() {
            "lib" | "main" | "mod" => module.to_owned(),
            _ if module.is_empty() => name,
            _ => format!("{module}::{name}"),
        };
        if path.is_dir() {
            sources(&path, &child, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.insert(child, code(&fs::read_to_string(&path).expect("a source")));
        }
    }
}

fn code(text: &str) -> String {
    let shipped = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let lines = shipped.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// The paths that begin with `crate` or `super`, with the trees of `use` split into single paths.
fn paths(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let is_path_character = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    for root in ["crate::", "super::"] {
        for (at, _) in code.match_indices(root) {
            if !code[..at].ends_with(is_path_character) {
                expand(&code[at..], "", &mut found);
            }
        }
    }
    found
}

/// Splits the first path of `text` into single paths. Returns the text after it.
fn expand<'a>(text: &'a str, prefix: &str, found: &mut Vec<String>) -> &'a str {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
        .unwrap_or(text.len());
    let (path, mut rest) = text.split_at(end);
    let path = format!("{prefix}{path}");
    let Some(inner) = rest.strip_prefix('{').filter(|_| path.ends_with("::")) else {
        found.push(path);
        return rest;
    };
    rest = inner;
    loop {
        rest = expand(rest, &path, found);
        let Some(next) = rest.find([',', '}']) else { return "" };
        let is_last = rest[next..].starts_with('}');
        rest = &rest[next + 1..];
        if is_last || rest.trim_start().starts_with('}') {
            return rest
                .split_once('}')
                .filter(|_| !is_last)
                .map_or(rest, |(_, behind)| behind);
        }
    }
}

/// The module that a path of `module` names.
fn resolve(path: &str, module: &str, sources: &BTreeMap<String, String>) -> Option<String> {
    let mut parts: Vec<_> = module.split("::").filter(|part| !part.is_empty()).collect();
    for part in path.split("::") {
        match part {
            "crate" => parts.clear(),
            "super" => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    (0..=parts.len())
        .rev()
        .map(|length| parts[..length].join("::"))
        .find(|known| sources.contains_key(known))
}

fn is_parent(parent: &str, child: &str) -> bool {
    parent.is_empty() || child.starts_with(&format!("{parent}::"))
}

fn modules(folder: &Path) -> Modules {
    let mut found = BTreeMap::new();
    sources(folder, "", &mut found);
    let uses = |(module, code): (&String, &String)| {
        let used = paths(code)
            .into_iter()
            .filter_map(|path| resolve(&path, module, &found))
            .filter(|used| used != module && !is_parent(used, module) && !is_parent(module, used))
            .collect();
        (module.clone(), used)
    };
    found.iter().map(uses).collect()
}

/// The modules that a module uses, directly or through others.
fn reachable<'a>(modules: &'a Modules, from: &'a str) -> BTreeSet<&'a str> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        for used in modules.get(module).into_iter().flatten() {
            if seen.insert(used.as_str()) {
                open.push(used);
            }
        }
    }
    seen
}

#[test]
fn no_import_circle_is_wider_than_a_module_and_its_children() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders = vec![root.join("src"), root.join("xtask/src"), root.join("tests/kit/src")];
    for parent in ["crates", "bench"] {
        let crates = fs::read_dir(root.join(parent)).expect("a folder of crates");
        folders.extend(crates.map(|entry| entry.expect("an entry").path().join("src")));
    }
    for folder in folders.into_iter().filter(|folder| folder.is_dir()) {
        let modules = modules(&folder);
        let circle: Vec<_> = modules
            .keys()
            .filter(|module| reachable(&modules, module).contains(module.as_str()))
            .collect();
        assert!(circle.is_empty(), "{}: {circle:?} import each other", folder.display());
    }
}

#[test]
fn a_circle_is_found_in_trees_of_use_and_in_paths() {
    let paths_of = |code| paths(code);
    assert_eq!(
        paths_of("use crate::{a, b::{C, d::E}};\nfn f() { super::g::h() }"),
        ["crate::a", "crate::b::C", "crate::b::d::E", "super::g::h"]
    );
    assert_eq!(paths_of("use my_crate::a; use x::super_::y;"), Vec::<String>::new());
}
