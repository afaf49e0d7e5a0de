//! Why an HPA cannot be built.

use std::fmt;
use std::time::Duration;

use crate::field_error::FieldError;
use crate::lint::Finding;

/// One reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// kube-apiserver would refuse it.
    #[error("{0}")]
    Refused(FieldError),
    /// kube-apiserver would accept it, and it would never work.
    #[error("{}: {} {}", .0.field, .0.effect, .0.advice)]
    NeverWorks(Finding),
    /// An HPA finds its target in its own namespace alone.
    #[error(
        "metadata.namespace: {target} is in another namespace than {hpa:?}, and an HPA scales only what is in its own"
    )]
    OtherNamespace {
        /// The namespace of the HPA.
        hpa: String,
        /// Such as `Deployment shop/web`.
        target: String,
    },
    /// Kubernetes counts whole seconds.
    #[error("{field}: {duration:?} is not a whole number of seconds")]
    NotWholeSeconds {
        /// Such as `spec.behavior.scaleUp.stabilizationWindowSeconds`.
        field: String,
        /// The given value.
        duration: Duration,
    },
}

/// All reasons, one a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildErrors(Vec<BuildError>);

impl BuildErrors {
    pub(super) fn new(errors: Vec<BuildError>) -> Self {
        Self(errors)
    }

    /// At least one.
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
