//! From objects to findings.

use burst_hpa::decode::API_VERSION;
use burst_hpa::{Lint, Objects, Options, decode, defaulted, lint, lint_among, migrate, validate};

use super::finding::Finding;
use crate::input::Input;
use crate::objects::Object;
use crate::render::{self, Targets};
use crate::yaml::Value;

/// Everything to object to, in the order of the files.
#[must_use]
pub fn check(input: &Input, options: Options) -> Vec<Finding> {
    let mut findings: Vec<Finding> = input.broken.iter().map(Finding::broken).collect();
    let mut around = Objects::default();
    for object in &input.objects {
        // An HPA that is not like its kind is found below, with places.
        if let (Err(reason), false) = (around.insert(object.tree.to_json()), object.is_hpa()) {
            findings.push(Finding::neighbour(object, &reason));
        }
    }
    let targets = Targets::of(input);
    let mut shorts = Vec::new();
    for object in input.objects.iter().filter(|object| render::is_short(object)) {
        match render::build(object, &targets, options) {
            Ok(hpa) => {
                let stored = defaulted(hpa, options);
                around.insert_hpa(stored.clone());
                shorts.push((object, stored));
            }
            Err(reasons) => findings.extend(reasons),
        }
    }
    for (object, stored) in shorts {
        let regrets = lint_among(&stored, &around, options).into_iter();
        findings.extend(regrets.map(|finding| render::regretted(object, finding)));
    }
    for object in &input.objects {
        findings.extend(of_object(object, &around, options));
    }
    findings.sort_by_key(|finding| (finding.source, finding.span.start));
    findings
}

fn of_object(object: &Object, around: &Objects, options: Options) -> Vec<Finding> {
    if !matches!(object.tree.value, Value::Object(_)) {
        return vec![Finding::unread(object, "expected an object")];
    }
    // From a request's address the apiserver would know them; kubectl has only the file.
    for word in ["apiVersion", "kind"] {
        if !matches!(object.tree.field(word).map(|tree| &tree.value), Some(Value::String(text)) if !text.is_empty()) {
            return vec![Finding::unread(
                object,
                format!("an object without {word}, so nobody knows what it is"),
            )];
        }
    }
    if object.is_hpa() {
        of_hpa(object, around, options)
    } else if let Some(finding) = Finding::nearly_an_hpa(object) {
        vec![finding]
    } else if let Some(finding) = Finding::no_list(object) {
        vec![finding]
    } else if object.api_version().starts_with("burstctl/") && !render::is_short(object) {
        vec![Finding::unread(
            object,
            "the short form is kind Hpa of apiVersion burstctl/v1",
        )]
    } else {
        Vec::new()
    }
}

fn of_hpa(object: &Object, around: &Objects, options: Options) -> Vec<Finding> {
    let mut node = object.tree.to_node();
    match object.api_version() {
        API_VERSION => {}
        // The one older version that clusters still take; they convert it as `migrate` does.
        "autoscaling/v1" => match migrate(&node) {
            Ok(migration) => node = migration.document,
            Err(error) => return vec![Finding::unread(object, error.to_string())],
        },
        _ => return vec![Finding::other_version(object)],
    }
    let written = match decode(&node) {
        Ok(hpa) => hpa,
        Err(errors) => return errors.iter().map(|error| Finding::decode(object, error)).collect(),
    };
    let stored = defaulted(written.clone(), options);
    let errors = validate(&stored, options);
    if !errors.is_empty() {
        return errors.iter().map(|error| Finding::invalid(object, error)).collect();
    }
    // Defaulting drops what these two are about.
    let dropped = lint(&written, options)
        .into_iter()
        .filter(|finding| matches!(finding.lint, Lint::DroppedTolerance | Lint::IgnoredStatus));
    let kept = lint_among(&stored, around, options);
    dropped
        .chain(kept)
        .map(|finding| Finding::lint(object, finding))
        .collect()
}
