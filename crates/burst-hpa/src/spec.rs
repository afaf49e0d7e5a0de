//! `spec`, for any Kubernetes version that the program has chosen: `k8s-openapi` has it optional in the types of older
//! versions and mandatory in those of newer ones.

use std::sync::LazyLock;

use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec};

/// A field that is a `T` or an `Option<T>`.
pub(crate) trait OptionalField<T> {
    fn as_option(&self) -> Option<&T>;
    fn get_or_default(&mut self) -> &mut T;
}

impl<T> OptionalField<T> for T {
    fn as_option(&self) -> Option<&T> {
        Some(self)
    }

    fn get_or_default(&mut self) -> &mut T {
        self
    }
}

impl<T: Default> OptionalField<T> for Option<T> {
    fn as_option(&self) -> Option<&T> {
        self.as_ref()
    }

    fn get_or_default(&mut self) -> &mut T {
        self.get_or_insert_default()
    }
}

static EMPTY: LazyLock<HorizontalPodAutoscalerSpec> = LazyLock::new(HorizontalPodAutoscalerSpec::default);

/// The spec; in Go a missing spec is an empty one.
pub(crate) fn spec(hpa: &HorizontalPodAutoscaler) -> &HorizontalPodAutoscalerSpec {
    hpa.spec.as_option().unwrap_or(&EMPTY)
}

pub(crate) fn spec_mut(hpa: &mut HorizontalPodAutoscaler) -> &mut HorizontalPodAutoscalerSpec {
    hpa.spec.get_or_default()
}
