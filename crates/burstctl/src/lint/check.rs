//! Checks objects and returns findings.

use burst_hpa::decode::API_VERSION;
use burst_hpa::{Lint, Objects, Options, decode, defaulted, lint, lint_among, migrate, validate};

use super::helm;
use crate::finding::Finding;
use crate::input::{Input, Origin};
use crate::objects::Object;
use crate::short_form::{self, ScaleTargets};

/// Which API versions of an HPA are accepted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Versions {
    /// The versions that a cluster accepts.
    Served,
    /// The versions that `migrate` can convert.
    Known,
}

/// Returns the findings in the order of the files. An HPA of a version that clusters no longer serve is an error.
#[must_use]
pub fn check(input: &Input, options: Options) -> Vec<Finding> {
    check_versions(input, options, Versions::Served)
}

/// Like [`check`], but first converts an HPA of a version that clusters no longer serve to `autoscaling/v2`.
#[must_use]
pub fn check_of_any_version(input: &Input, options: Options) -> Vec<Finding> {
    check_versions(input, options, Versions::Known)
}

fn check_versions(input: &Input, options: Options, versions: Versions) -> Vec<Finding> {
    let mut findings: Vec<Finding> = input.invalid_documents.iter().map(Finding::syntax_error).collect();
    let mut related = match input.origin {
        Origin::Files => Objects::default(),
        Origin::Cluster => Objects::of_cluster(),
    };
    for object in &input.objects {
        // `check_hpa` reports an HPA that cannot be decoded, with positions.
        if let (Err(reason), false) = (related.insert(object.tree.to_json()), object.is_hpa()) {
            findings.push(Finding::related_object(object, &reason));
        }
    }
    let targets = ScaleTargets::of(input);
    let mut short_forms = Vec::new();
    for object in input.objects.iter().filter(|object| short_form::is_short(object)) {
        match short_form::build(object, &targets, options) {
            Ok(hpa) => {
                let stored = defaulted(hpa, options);
                related.insert_hpa(stored.clone());
                short_forms.push((object, stored));
            }
            Err(reasons) => findings.extend(reasons),
        }
    }
    for (object, stored) in short_forms {
        let lints = lint_among(&stored, &related, options).into_iter();
        findings.extend(lints.map(|finding| short_form::lint_finding(object, finding)));
    }
    for object in &input.objects {
        findings.extend(check_object(object, &related, (options, versions)));
    }
    helm::advise(&mut findings, input);
    findings.sort_by_key(|finding| (finding.source, finding.span.start));
    findings
}

fn check_object(object: &Object, related: &Objects, (options, versions): (Options, Versions)) -> Vec<Finding> {
    if let Some(reason) = object.invalid_reason() {
        return vec![Finding::undecodable(object, reason)];
    }
    if object.is_hpa() {
        check_hpa(object, related, (options, versions))
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

fn check_hpa(object: &Object, related: &Objects, (options, versions): (Options, Versions)) -> Vec<Finding> {
    let mut node = object.tree.clone();
    match (object.api_version(), versions) {
        (API_VERSION, _) => {}
        // Clusters still accept `autoscaling/v1`, and convert it as `migrate` does.
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
    // These two lints are about fields that defaulting removes.
    let written_findings = lint(&written, options)
        .into_iter()
        .filter(|finding| matches!(finding.lint, Lint::DroppedTolerance | Lint::IgnoredStatus));
    let stored_findings = lint_among(&stored, related, options);
    written_findings
        .chain(stored_findings)
        .map(|finding| Finding::lint(object, finding))
        .collect()
}
