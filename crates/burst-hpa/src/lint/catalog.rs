//! The list of lints with their stable names and severities.

use std::fmt;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// It works, perhaps not as meant.
    Warning,
    /// Part of it, or all of it, never works.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

macro_rules! lints {
    ($($(#[$doc:meta])* $name:ident $id:literal $severity:ident,)+) => {
        /// A rule beyond those of the API server. Its name is stable, because users list exceptions by it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Lint { $($(#[$doc])* $name),+ }

        impl Lint {
            /// Every rule.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The stable name.
            #[must_use]
            pub fn id(self) -> &'static str {
                match self { $(Self::$name => $id),+ }
            }

            /// The usual severity of this rule.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity),+ }
            }
        }
    };
}

lints! {
    /// An `Object` target whose type does not name the field that is set.
    ObjectTargetType "object-target-type" Error,
    /// A metric selector that cannot be evaluated.
    MetricSelector "metric-selector" Error,
    /// A resource that `metrics.k8s.io` does not serve.
    UnservedResource "unserved-resource" Error,
    /// A target kind without a scale subresource, or in a removed group.
    UnscalableTarget "unscalable-target" Error,
    /// A container that the pods do not have.
    UnknownContainer "unknown-container" Error,
    /// A target too large for the controller's thousandths.
    TargetOverflow "target-overflow" Error,
    /// Utilization of a resource that is not requested.
    MissingRequest "missing-request" Error,
    /// Two HPAs that scale the same object.
    SharedTarget "shared-target" Error,
    /// Pods that two HPAs' targets select.
    AmbiguousSelector "ambiguous-selector" Error,
    /// A KEDA `ScaledObject` for the same target.
    KedaTarget "keda-target" Error,
    /// Scale-up policies that add nothing to 0 replicas.
    StuckAtZero "stuck-at-zero" Error,
    /// A target type that the controller ignores.
    IgnoredTargetType "ignored-target-type" Warning,
    /// A target field that the controller ignores.
    IgnoredTargetField "ignored-target-field" Warning,
    /// The same metric twice.
    DuplicateMetric "duplicate-metric" Warning,
    /// A tolerance so wide that the controller never acts.
    WideTolerance "wide-tolerance" Warning,
    /// A tolerance that the cluster drops.
    DroppedTolerance "dropped-tolerance" Warning,
    /// A utilization target that the limits make unreachable.
    UnreachableUtilization "unreachable-utilization" Warning,
    /// A utilization target above the requests, without a limit.
    AboveRequest "above-request" Warning,
    /// Many pods that may be missing before the controller acts.
    DeadBand "dead-band" Warning,
    /// A minimum equal to the maximum.
    FixedRange "fixed-range" Warning,
    /// A direction that is disabled.
    DisabledDirection "disabled-direction" Warning,
    /// A scale-down from the maximum to the minimum that takes longer than an hour.
    SlowScaleDown "slow-scale-down" Warning,
    /// A scale-down from the maximum to the minimum at once, after one low reading.
    HastyScaleDown "hasty-scale-down" Warning,
    /// A status in an object that is to be created.
    IgnoredStatus "ignored-status" Warning,
    /// A number of replicas in the target's manifest.
    FixedReplicas "fixed-replicas" Warning,
    /// A rollout that adds many pods, all of which the controller counts.
    RolloutSurge "rollout-surge" Warning,
    /// A target that is missing from the objects.
    MissingTarget "missing-target" Warning,
    /// A target whose selector matches pods of another workload.
    ForeignPods "foreign-pods" Warning,
    /// A disruption budget that leaves no pod to evict at the minimum.
    DisruptionBudget "disruption-budget" Warning,
    /// A `VerticalPodAutoscaler` that changes the requests the HPA measures against.
    VerticalAutoscaler "vertical-autoscaler" Warning,
    /// An injected sidecar that counts and has no request in this manifest.
    InjectedSidecar "injected-sidecar" Warning,
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Lint;

    #[test]
    fn lint_names_are_unique() {
        let ids: BTreeSet<_> = Lint::ALL.iter().map(|lint| lint.id()).collect();
        assert_eq!(ids.len(), Lint::ALL.len());
    }

    #[test]
    fn the_readme_lists_every_lint() {
        let readme = include_str!("../../README.md");
        let row = |lint: &Lint| format!("| `{}` | {} |", lint.id(), lint.severity());
        let missing: Vec<_> = Lint::ALL.iter().filter(|lint| !readme.contains(&row(lint))).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
