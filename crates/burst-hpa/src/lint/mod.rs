//! Problems that kube-apiserver accepts: HPAs that never work, fields that the controller ignores, other objects that
//! interfere.
//!
//! Lints expect a [`defaulted`](crate::defaulted()) object that passes [`validate`](crate::validate()); for other objects they may
//! miss problems.

mod band;
mod behavior;
mod catalog;
mod custom;
mod index;
mod injected;
mod kind;
mod metric;
mod objects;
mod other_objects;
mod reach;
mod requests;
mod scan;
mod spec;
mod surge;
mod workload;
mod zero;

use std::fmt;

pub use catalog::{Lint, Severity};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
pub use objects::{Insertion, Objects};

use crate::field_path::FieldPath;
use crate::options::Options;
use crate::simulate::{self, Plan, Tolerance};
use crate::workload::{DEFAULT_NAMESPACE, Workload};

/// One finding of a lint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub lint: Lint,
    /// Usually the severity of the rule. It is lower where something outside the input may solve the problem, and higher where
    /// the input leaves no doubt.
    pub severity: Severity,
    /// The path in the HPA, such as `spec.metrics[0].resource.name`.
    pub field: String,
    /// What happens in the cluster, in one or two sentences.
    pub effect: String,
    /// What to change, in one or two sentences.
    pub advice: String,
}

/// `spec.metrics[0].resource.name: …: …`
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} [{}] {}: {} {}",
            self.severity, self.lint, self.field, self.effect, self.advice
        )
    }
}

/// Runs the lints that need only the HPA.
#[must_use]
pub fn lint(hpa: &HorizontalPodAutoscaler, options: Options) -> Vec<Finding> {
    let mut findings = Findings::default();
    alone(hpa, options, &mut findings);
    findings.0
}

/// Runs the lints that need the HPA and its target.
#[must_use]
pub fn lint_with_target(hpa: &HorizontalPodAutoscaler, target: &Workload, options: Options) -> Vec<Finding> {
    let mut findings = Findings::default();
    alone(hpa, options, &mut findings);
    target_lints(hpa, target, false, &mut findings);
    findings.0
}

/// Runs all lints, with the HPA and the other objects of its cluster.
#[must_use]
pub fn lint_among(hpa: &HorizontalPodAutoscaler, objects: &Objects, options: Options) -> Vec<Finding> {
    let mut findings = Findings::default();
    alone(hpa, options, &mut findings);
    if let Some(target) = objects.target(hpa) {
        target_lints(hpa, target, objects.may_add_requests(namespace(hpa)), &mut findings);
    }
    other_objects::lint(hpa, objects, &mut findings);
    findings.0
}

fn alone(hpa: &HorizontalPodAutoscaler, options: Options, findings: &mut Findings) {
    spec::lint(hpa, options, findings);
    let hpa_spec = crate::spec::spec(hpa);
    let path = FieldPath::ROOT.field("spec");
    metric::lint(
        hpa_spec.metrics.as_deref().unwrap_or_default(),
        &path.field("metrics"),
        findings,
    );
    behavior::lint(hpa_spec, &path.field("behavior"), findings);
    zero::lint(hpa_spec, &path, findings);
    band::lint(hpa, options, findings);
}

/// Returns the tolerance of the HPA, or the controller's default if the HPA sets none.
fn tolerance(hpa: &HorizontalPodAutoscaler) -> Tolerance {
    let controller = simulate::ControllerOptions::default();
    match Plan::read(namespace(hpa), crate::spec::spec(hpa)) {
        Ok(plan) => Tolerance::of(&plan, &controller),
        Err(_) => Tolerance {
            down: controller.tolerance,
            up: controller.tolerance,
        },
    }
}

/// `12.5 %`
fn percent(share: f64) -> String {
    format!("{} %", (share * 1000.0).round() / 10.0)
}

/// `others_may_add` is true if something else may add requests to the target's containers.
fn target_lints(hpa: &HorizontalPodAutoscaler, target: &Workload, others_may_add: bool, findings: &mut Findings) {
    workload::lint(hpa, target, findings);
    surge::lint(hpa, target, findings);
    requests::lint(hpa, target, others_may_add, findings);
}

fn namespace(hpa: &HorizontalPodAutoscaler) -> &str {
    hpa.metadata.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE)
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, lint: Lint, field: impl fmt::Display, effect: impl Into<String>, advice: impl Into<String>) {
        self.add_as(lint.severity(), lint, field, effect, advice);
    }

    fn add_as(
        &mut self,
        severity: Severity,
        lint: Lint,
        field: impl fmt::Display,
        effect: impl Into<String>,
        advice: impl Into<String>,
    ) {
        let field = field.to_string();
        self.0.push(Finding {
            lint,
            severity,
            field,
            effect: effect.into(),
            advice: advice.into(),
        });
    }
}
