//! The name of a metric as policies see it, however a client spells it.

use std::borrow::Cow;

/// Longer than any metric's name that somebody wrote; a pattern is tried on each character.
pub const MAX_LENGTH: usize = 512;

/// The canonical name: in lower case, as client-go asks for it; with a slash where it is written `\|` or `|`, as an HPA
/// cannot have one; and of the metrics of this project, which may have a slash for their first underscore, that with
/// the underscore.
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

/// The same where a name may be too long to be looked at.
#[must_use]
pub fn abbreviated(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(64) {
        None => name.into(),
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default()).into(),
    }
}
