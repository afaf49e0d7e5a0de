//! The errors of the builder.

use std::fmt;
use std::time::Duration;

use crate::field_error::FieldError;
use crate::lint::Finding;

/// One reason why an HPA cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// kube-apiserver would refuse the HPA.
    #[error("{0}")]
    Refused(FieldError),
    /// kube-apiserver would accept the HPA, but it would never work.
    #[error("{}: {} {}", .0.field, .0.effect, .0.advice)]
    NeverWorks(Finding),
    /// The target is in another namespace. An HPA can only scale objects in its own namespace.
    #[error(
        "metadata.namespace: {target} is not in the namespace {hpa:?} of the HPA; an HPA only scales objects in its own namespace"
    )]
    OtherNamespace {
        /// The namespace of the HPA.
        hpa: String,
        /// The target, such as `Deployment shop/web`.
        target: String,
    },
    /// The duration has a fraction of a second. Kubernetes stores whole seconds.
    #[error("{field}: {duration:?} is not a whole number of seconds")]
    NotWholeSeconds {
        /// The path of the field, such as `spec.behavior.scaleUp.stabilizationWindowSeconds`.
        field: String,
        /// The given value.
        duration: Duration,
    },
}

/// All reasons why an HPA cannot be built. `Display` writes one reason per line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildErrors(Vec<BuildError>);

impl BuildErrors {
    pub(super) fn new(errors: Vec<BuildError>) -> Self {
        Self(errors)
    }

    /// Returns the reasons. There is at least one.
    #[must_use]
    pub fn as_slice(&self) -> &[BuildError] {
        &self.0
    }
}

impl fmt::Display for BuildErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for BuildErrors {}
