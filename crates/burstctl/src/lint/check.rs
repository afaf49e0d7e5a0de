//! From objects to findings.

use burst_hpa::decode::API_VERSION;
use burst_hpa::{Lint, Objects, Options, decode, defaulted, lint, lint_among, migrate, validate};

use crate::finding::Finding;
use crate::input::Input;
use crate::objects::Object;
use crate::short_form::{self, ScaleTargets};

/// Which versions of the API are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Versions {
    /// Those that a cluster takes.
    Served,
    /// Those that `migrate` knows.
    Known,
}

/// Everything to object to, in the order of the files.
#[must_use]
pub fn check(input: &Input, options: Options) -> Vec<Finding> {
    check_versions(input, options, Versions::Served)
}

/// The same, where an HPA of a version that no cluster serves any more stands for what it becomes in `autoscaling/v2`.
#[must_use]
pub fn check_of_any_version(input: &Input, options: Options) -> Vec<Finding> {
    check_versions(input, options, Versions::Known)
}

fn check_versions(input: &Input, options: Options, versions: Versions) -> Vec<Finding> {
    let mut findings: Vec<Finding> = input.invalid_documents.iter().map(Finding::syntax_error).collect();
    let mut related = Objects::default();
    for object in &input.objects {
        // An HPA that is not like its kind is found below, with places.
        if let (Err(reason), false) = (related.insert(object.tree.to_json()), object.is_hpa()) {
            findings.push(Finding::related_object(object, &reason));
        }
    }
    let targets = ScaleTargets::of(input);
    let mut shorts = Vec::new();
    for object in input.objects.iter().filter(|object| short_form::is_short(object)) {
        match short_form::build(object, &targets, options) {
            Ok(hpa) => {
                let stored = defaulted(hpa, options);
                related.insert_hpa(stored.clone());
                shorts.push((object, stored));
            }
            Err(reasons) => findings.extend(reasons),
        }
    }
    for (object, stored) in shorts {
        let lints = lint_among(&stored, &related, options).into_iter();
        findings.extend(lints.map(|finding| short_form::lint_finding(object, finding)));
    }
    for object in &input.objects {
        findings.extend(of_object(object, &related, (options, versions)));
    }
    findings.sort_by_key(|finding| (finding.source, finding.span.start));
    findings
}

fn of_object(object: &Object, related: &Objects, (options, versions): (Options, Versions)) -> Vec<Finding> {
    if let Some(fault) = object.invalid_reason() {
        return vec![Finding::undecodable(object, fault)];
    }
    if object.is_hpa() {
        of_hpa(object, related, (options, versions))
    } else if let Some(finding) = Finding::misnamed_hpa(object) {
        vec![finding]
    } else if let Some(finding) = Finding::invalid_list(object) {
        vec![finding]
    } else if object.api_version().starts_with("burstctl/") && !short_form::is_short(object) {
        vec![Finding::undecodable(
            object,
            "the short form is kind Hpa of apiVersion burstctl/v1",
        )]
    } else {
        Vec::new()
    }
}

fn of_hpa(object: &Object, related: &Objects, (options, versions): (Options, Versions)) -> Vec<Finding> {
    let mut node = object.tree.clone();
    match (object.api_version(), versions) {
        (API_VERSION, _) => {}
        // The one older version that clusters still take; they convert it as `migrate` does.
        ("autoscaling/v1", _) | ("autoscaling/v2beta1" | "autoscaling/v2beta2", Versions::Known) => {
            match migrate(&node) {
                Ok(migration) => node = migration.document,
                Err(error) => return vec![Finding::undecodable(object, error.to_string())],
            }
        }
        _ => return vec![Finding::unsupported_version(object)],
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
    let kept = lint_among(&stored, related, options);
    dropped
        .chain(kept)
        .map(|finding| Finding::lint(object, finding))
        .collect()
}
