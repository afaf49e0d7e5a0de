//! The numbers of an HPA, from its JSON.

use serde_json::Value;

/// The JSON pointer to the current replicas.
pub(crate) const CURRENT_REPLICAS: &str = "/status/currentReplicas";

/// The number at a JSON pointer, if there is one that fits.
pub(crate) fn number(hpa: &Value, pointer: &str) -> Option<u32> {
    let number = hpa.pointer(pointer).and_then(Value::as_u64);
    number.and_then(|number| u32::try_from(number).ok())
}

/// The minimum and the maximum. By default the minimum is 1, as in Kubernetes, and the maximum is not lower.
pub(crate) fn replica_range(hpa: &Value) -> (u32, u32) {
    let min = number(hpa, "/spec/minReplicas").unwrap_or(1);
    let max = number(hpa, "/spec/maxReplicas").unwrap_or(min).max(min);
    (min, max)
}
