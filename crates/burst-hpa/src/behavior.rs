//! The enumerations of scaling rules.

use crate::string_enum::closed;

closed! {
    /// Which of several policies applies: `selectPolicy`.
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
    /// The unit of a policy: `policies[].type`.
    PolicyType {
        /// Percent of the replicas at the start of the period.
        Percent,
        /// Pods.
        Pods,
    }
}
