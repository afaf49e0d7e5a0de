//! Checks the values that were set, and builds the HPA.

use k8s_openapi::api::autoscaling::v2::{
    HorizontalPodAutoscaler, HorizontalPodAutoscalerBehavior, HorizontalPodAutoscalerSpec,
};

use super::{BuildError, BuildErrors, Hpa, ScalingRules};
use crate::field_path::FieldPath;
use crate::lint::{Finding, Lint, Severity, lint, lint_with_target};
use crate::{defaulted, validate};

/// An HPA that the cluster accepts and that can work.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Built {
    /// The object.
    pub hpa: HorizontalPodAutoscaler,
    /// Mistakes with which the HPA works, but perhaps not as intended.
    pub warnings: Vec<Finding>,
}

/// The object as written and as stored.
struct Checked {
    written: HorizontalPodAutoscaler,
    stored: HorizontalPodAutoscaler,
    warnings: Vec<Finding>,
}

impl Hpa {
    /// Builds the object with only the fields that you set. It comes with warnings, such as a minimum that equals the maximum:
    /// ```
    /// use burst_hpa::builder::{Hpa, ScaleTarget};
    ///
    /// let built = Hpa::new(ScaleTarget::deployment("bookstore-api"), 3).min_replicas(3).build()?;
    /// assert_eq!(built.warnings[0].lint, burst_hpa::Lint::FixedRange);
    /// # Ok::<_, burst_hpa::builder::BuildErrors>(())
    /// ```
    ///
    /// # Errors
    /// Returns all errors at once. They include the errors of kube-apiserver, and mistakes that kube-apiserver accepts
    /// although the HPA never works. For example, a container of the target does not request a resource that has a
    /// utilization target:
    /// ```
    /// use burst_hpa::builder::{Hpa, ResourceMetric, Utilization};
    /// use burst_hpa::metric::Resource;
    /// use k8s_openapi::api::apps::v1::Deployment;
    ///
    /// let bookstore: Deployment = serde_json::from_value(serde_json::json!({
    ///     "metadata": { "name": "bookstore-api", "namespace": "shop" },
    ///     "spec": {
    ///         "selector": {},
    ///         "template": { "spec": { "containers": [
    ///             { "name": "app", "resources": { "requests": { "cpu": "500m" } } },
    ///             { "name": "log-shipper" },
    ///         ] } },
    ///     },
    /// }))?;
    /// let errors = Hpa::new(&bookstore, 10)
    ///     .metric(ResourceMetric::new(Resource::Cpu, Utilization(50)))
    ///     .build()
    ///     .unwrap_err();
    /// assert_eq!(
    ///     errors.to_string(),
    ///     "spec.metrics[0].resource.target.averageUtilization: Container \"log-shipper\" of Deployment shop/bookstore-api \
    ///      requests no cpu. Utilization is a percentage of the requests, so the metric always fails. \
    ///      Add a cpu request to the container, or use a ContainerResource metric for another container.",
    /// );
    /// # Ok::<_, serde_json::Error>(())
    /// ```
    pub fn build(&self) -> Result<Built, BuildErrors> {
        let Checked { written, warnings, .. } = self.checked()?;
        Ok(Built { hpa: written, warnings })
    }

    /// Builds the object as Kubernetes stores it: [`build`](Self::build) with all defaults filled in.
    ///
    /// # Errors
    /// Returns the errors of [`build`](Self::build).
    pub fn defaulted(&self) -> Result<Built, BuildErrors> {
        let Checked { stored, warnings, .. } = self.checked()?;
        Ok(Built { hpa: stored, warnings })
    }

    fn checked(&self) -> Result<Checked, BuildErrors> {
        let mut errors = Vec::new();
        let written = self.written(&mut errors);
        errors.extend(self.other_namespace());
        let stored = defaulted(written.clone(), self.options);
        errors.extend(validate(&stored, self.options).into_iter().map(BuildError::Refused));
        if !errors.is_empty() {
            return Err(BuildErrors::new(errors));
        }
        let (mistakes, warnings): (Vec<_>, Vec<_>) =
            self.findings(&written, &stored).into_iter().partition(never_works);
        if !mistakes.is_empty() {
            return Err(BuildErrors::new(
                mistakes.into_iter().map(BuildError::NeverWorks).collect(),
            ));
        }
        Ok(Checked {
            written,
            stored,
            warnings,
        })
    }

    fn other_namespace(&self) -> Option<BuildError> {
        let target = self.target.workload()?;
        let (hpa_namespace, target_namespace) = (self.metadata.namespace.as_ref()?, target.namespace.as_ref()?);
        (hpa_namespace != target_namespace).then(|| BuildError::OtherNamespace {
            hpa: hpa_namespace.clone(),
            target: target.title(),
        })
    }

    fn written(&self, errors: &mut Vec<BuildError>) -> HorizontalPodAutoscaler {
        let spec_path = FieldPath::ROOT.field("spec");
        let behavior_path = spec_path.field("behavior");
        let mut rules = |name: &str, rules: &Option<ScalingRules>| {
            rules
                .as_ref()
                .map(|rules| rules.written(&behavior_path.field(name), errors))
        };
        let behavior = HorizontalPodAutoscalerBehavior {
            scale_up: rules("scaleUp", &self.scale_up),
            scale_down: rules("scaleDown", &self.scale_down),
        };
        let has_rules = behavior.scale_up.is_some() || behavior.scale_down.is_some();
        let metrics: Vec<_> = self.metrics.iter().map(|metric| metric.spec().clone()).collect();
        let spec = HorizontalPodAutoscalerSpec {
            behavior: has_rules.then_some(behavior),
            max_replicas: self.max_replicas,
            metrics: (!metrics.is_empty()).then_some(metrics),
            min_replicas: self.min_replicas,
            scale_target_ref: self.target.reference().clone(),
        };
        #[expect(
            clippy::useless_conversion,
            reason = "optional in the types of older Kubernetes versions"
        )]
        HorizontalPodAutoscaler {
            metadata: self.metadata.clone(),
            spec: spec.into(),
            status: None,
        }
    }

    fn findings(&self, written: &HorizontalPodAutoscaler, stored: &HorizontalPodAutoscaler) -> Vec<Finding> {
        let mut findings = match self.target.workload() {
            Some(workload) => lint_with_target(stored, workload, self.options),
            None => lint(stored, self.options),
        };
        // The stored object no longer has the field, so this lint needs the object as written.
        let dropped = lint(written, self.options)
            .into_iter()
            .filter(|finding| finding.lint == Lint::DroppedTolerance);
        findings.extend(dropped);
        findings
    }
}

/// Returns whether a finding is an error of [`Hpa::build`]. A tolerance that kube-apiserver drops is one, because the object
/// that you build is not the one that the cluster stores.
fn never_works(finding: &Finding) -> bool {
    finding.severity == Severity::Error || finding.lint == Lint::DroppedTolerance
}
