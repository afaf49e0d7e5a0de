//! The words of scaling rules.

use crate::string_enum::closed;

closed! {
    /// Which of several policies holds: `selectPolicy`.
    SelectPolicy {
        /// Scaling in this direction never happens.
        Disabled,
        /// The one that allows the largest change.
        Max,
        /// The one that allows the smallest change.
        Min,
    }
}

closed! {
    /// What a policy counts: `policies[].type`.
    PolicyType {
        /// Per cent of the replicas at the start of the period.
        Percent,
        /// Pods.
        Pods,
    }
}
