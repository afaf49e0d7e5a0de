//! The canonical name of a metric. Policies match it for every spelling that a client may use.

use std::borrow::Cow;

/// The longest name that policies match, in bytes. No real name is longer, and the cost of a pattern grows with it.
pub const MAX_LENGTH: usize = 512;

/// Returns the canonical name.
///
/// It is in lower case, as client-go sends it. `\|` and `|` become a slash, because an HPA cannot contain one. The prefix `burst/`
/// becomes `burst_`, because the metrics of this project can be written with either.
///
/// ```
/// assert_eq!(burst_policy::name::canonical(r"Burst\|headroom"), "burst_headroom");
/// assert_eq!(burst_policy::name::canonical("pubsub|Depth"), "pubsub/depth");
/// ```
#[must_use]
pub fn canonical(name: &str) -> String {
    let name = name.to_ascii_lowercase().replace("\\|", "/").replace('|', "/");
    match name.strip_prefix("burst/") {
        Some(rest) => format!("burst_{rest}"),
        None => name,
    }
}

/// Returns a name for a message, cut after 64 characters.
#[must_use]
pub fn abbreviated(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(64) {
        None => name.into(),
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default()).into(),
    }
}
