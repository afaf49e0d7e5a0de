//! The text of an explanation: a sentence and advice for people, a stable reason code for programs.

use super::{LoadFinding, NoLoadReason, UnmatchedHpa, WorkloadRef};
use std::fmt;

impl NoLoadReason {
    /// The reason code, for programs.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::NoSelector => "no-selector",
            Self::NothingSelected => "nothing-selected",
            Self::NoHpa(_) => "no-hpa",
            Self::Unobserved(_) => "unobserved-hpa",
        }
    }

    /// Returns whether the Service is meant to be autoscaled, so that the missing load is a problem.
    #[must_use]
    pub const fn is_problem(&self) -> bool {
        matches!(self, Self::Unobserved(_))
    }

    /// What to do about it, if the Service should have a header.
    #[must_use]
    pub const fn advice(&self) -> &'static str {
        match self {
            Self::NoSelector => "give it a selector, or send requests to a Service that has one",
            Self::NothingSelected => {
                "compare its selector with the labels of the pod template; a workload of another kind must be named in \
                 `workloads`"
            }
            Self::NoHpa(_) => "create an HPA for it",
            Self::Unobserved(_) => "look at the HPA's events; kube-controller-manager sets its status within 15 s",
        }
    }
}

impl fmt::Display for NoLoadReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSelector => f.write_str("the Service has no selector"),
            Self::NothingSelected => f.write_str("its selector matches the pods of no workload that is read"),
            Self::NoHpa(workloads) => write!(f, "no HPA scales {}", joined_with_and(workloads)),
            Self::Unobserved(hpas) => write!(f, "no controller has looked at HPA {} yet", joined_with_and(hpas)),
        }
    }
}

impl LoadFinding {
    /// The reason code, for programs.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Shadowed { .. } => "two-hpas",
            Self::Excluded { .. } => "unobserved-hpa",
            Self::Fixed(_) => "not-autoscaled",
        }
    }

    /// What to do about it.
    #[must_use]
    pub const fn advice(&self) -> &'static str {
        match self {
            Self::Shadowed { .. } => "delete one of the two: they undo each other's work",
            Self::Excluded { .. } => "look at the HPA's events; kube-controller-manager sets its status within 15 s",
            Self::Fixed(_) => "nothing, if its number of replicas is meant to stay",
        }
    }

    /// Returns whether the load is wrong. Otherwise, the finding is for information only.
    #[must_use]
    pub const fn is_problem(&self) -> bool {
        !matches!(self, Self::Fixed(_))
    }
}

impl fmt::Display for LoadFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shadowed { hpa, by, workload } => {
                write!(f, "HPA {hpa} scales {workload} too, and only {by} counts")
            }
            Self::Excluded { hpa, workload } => {
                write!(
                    f,
                    "{workload} is not in the sums: no controller has looked at HPA {hpa} yet"
                )
            }
            Self::Fixed(workload) => write!(f, "{workload} does not count: no HPA scales it"),
        }
    }
}

impl UnmatchedHpa {
    /// The reason code, for programs.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        if self.kind_is_read {
            "no-target"
        } else {
            "kind-not-read"
        }
    }

    /// What to do about it.
    #[must_use]
    pub const fn advice(&self) -> &'static str {
        if self.kind_is_read {
            "correct its scaleTargetRef, kind and group included, or delete it"
        } else {
            "name its kind in `workloads`, and give the role the verb list on it; or correct its scaleTargetRef"
        }
    }
}

impl fmt::Display for UnmatchedHpa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hpa, target, .. } = self;
        let dot = if target.group.is_empty() { "" } else { "." };
        write!(
            f,
            "HPA {hpa} scales {}{dot}{} {}, ",
            target.kind, target.group, target.name
        )?;
        f.write_str(if self.kind_is_read {
            "which is not there"
        } else {
            "a kind that is not read"
        })
    }
}

impl fmt::Display for WorkloadRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}

/// `a, b and c`
fn joined_with_and(items: &[impl fmt::Display]) -> String {
    let texts: Vec<_> = items.iter().map(ToString::to_string).collect();
    match texts.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => texts.concat(),
    }
}
