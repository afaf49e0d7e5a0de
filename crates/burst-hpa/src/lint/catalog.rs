//! The list of lints with their stable names and severities.

use std::fmt;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The HPA works, but perhaps not as intended.
    Warning,
    /// The HPA, or a part of it, never works.
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
        /// A rule that kube-apiserver does not check. Its name is stable, because users list exceptions by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Lint { $($(#[$doc])* $name),+ }

        impl Lint {
            /// All rules.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// Returns the stable name.
            #[must_use]
            pub fn id(self) -> &'static str {
                match self { $(Self::$name => $id),+ }
            }

            /// Returns the usual severity of this rule.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity),+ }
            }
        }
    };
}

lints! {
    /// The type of an `Object` target does not match the field that is set.
    ObjectTargetType "object-target-type" Error,
    /// The controller cannot evaluate the metric selector.
    MetricSelector "metric-selector" Error,
    /// `metrics.k8s.io` does not serve the resource.
    UnservedResource "unserved-resource" Error,
    /// The target kind has no scale subresource, or its API group no longer exists.
    UnscalableTarget "unscalable-target" Error,
    /// The target's API group has no such kind.
    UnknownKind "unknown-kind" Error,
    /// The average memory is less than any process uses.
    TinyMemoryTarget "tiny-memory-target" Error,
    /// The pods do not have the container.
    UnknownContainer "unknown-container" Error,
    /// The target is too large for the controller, which computes in thousandths.
    TargetOverflow "target-overflow" Error,
    /// The target is a utilization, but a container does not request the resource.
    MissingRequest "missing-request" Error,
    /// Two HPAs scale the same object.
    SharedTarget "shared-target" Error,
    /// The target's selector matches pods of a workload that another HPA scales.
    AmbiguousSelector "ambiguous-selector" Error,
    /// A KEDA `ScaledObject` has the same target.
    KedaTarget "keda-target" Error,
    /// The scale-up policies add no pods to 0 replicas.
    StuckAtZero "stuck-at-zero" Error,
    /// The controller ignores the target type.
    IgnoredTargetType "ignored-target-type" Warning,
    /// The controller ignores a target field.
    IgnoredTargetField "ignored-target-field" Warning,
    /// The HPA has the same metric twice.
    DuplicateMetric "duplicate-metric" Warning,
    /// The tolerance is 100 % or more, so the controller rarely or never acts.
    WideTolerance "wide-tolerance" Warning,
    /// kube-apiserver drops the tolerance, because a feature gate is off.
    DroppedTolerance "dropped-tolerance" Warning,
    /// The limits keep utilization below the point at which the controller scales up.
    UnreachableUtilization "unreachable-utilization" Warning,
    /// The limits keep usage below the average value at which the controller scales up.
    UnreachableValue "unreachable-value" Warning,
    /// The utilization target is above 100 %, and not all containers have a limit.
    AboveRequest "above-request" Warning,
    /// Many pods can be missing before the controller acts.
    DeadBand "dead-band" Warning,
    /// The minimum equals the maximum.
    FixedRange "fixed-range" Warning,
    /// Scaling in one direction is disabled.
    DisabledDirection "disabled-direction" Warning,
    /// Scaling from the maximum to the minimum takes longer than an hour.
    SlowScaleDown "slow-scale-down" Warning,
    /// One low reading scales from the maximum to the minimum at once.
    HastyScaleDown "hasty-scale-down" Warning,
    /// A new object has a status.
    IgnoredStatus "ignored-status" Warning,
    /// The target's manifest sets `replicas`.
    FixedReplicas "fixed-replicas" Warning,
    /// A rollout adds many pods, and the controller counts all of them.
    RolloutSurge "rollout-surge" Warning,
    /// The target is not in the input, or does not exist in the cluster.
    MissingTarget "missing-target" Warning,
    /// The target's selector matches pods of another workload.
    ForeignPods "foreign-pods" Warning,
    /// A disruption budget allows no evictions at the minimum.
    DisruptionBudget "disruption-budget" Warning,
    /// A `VerticalPodAutoscaler` changes the requests that utilization is measured against.
    VerticalAutoscaler "vertical-autoscaler" Warning,
    /// A webhook injects a sidecar that counts but has no request in this manifest.
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
