//! The live page for browsers: one HTML file with its style and its script, which reads the JSON beside it. `build.rs` joins it
//! from the files of the folder `page/`.

use super::local_reply::{LocalReply, not_modified};
use crate::hash;

const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.html"));

/// It allows the style and the script of the page by their hashes, and requests to the host of the page; nothing else.
const POLICY: &str = include_str!(concat!(env!("OUT_DIR"), "/page-policy.txt"));

/// Returns whether a request is for the page: the part of its path after the prefix is empty, and it accepts HTML by name.
/// Clients that accept anything, such as curl, get the same answer as without the page.
#[must_use]
pub(super) fn is_wanted(method: &[u8], path: &[u8], accept: Option<&[u8]>) -> bool {
    let path = path.split(|b| matches!(b, b'?' | b'#')).next().unwrap_or_default();
    matches!(path, b"" | b"/") && matches!(method, b"GET" | b"HEAD") && accept.is_some_and(accepts_html)
}

/// Returns the page. It does not depend on the cluster.
#[must_use]
pub fn reply(if_none_match: Option<&[u8]>) -> LocalReply {
    let etag = format!("\"{:016x}\"", hash::of_bytes(PAGE.as_bytes()));
    let reply = not_modified(&etag, if_none_match).unwrap_or_else(|| {
        LocalReply::new(200, "text/html; charset=utf-8", PAGE.as_bytes())
            .with("etag", etag)
            .with("content-security-policy", POLICY)
            .with("x-content-type-options", "nosniff")
            .with("referrer-policy", "no-referrer")
    });
    // A newer filter has another page.
    reply.with("cache-control", "no-cache").with("vary", "accept")
}

/// Returns whether `Accept` names `text/html`, and does not exclude it with a quality of 0.
/// <https://www.rfc-editor.org/rfc/rfc9110#name-accept>
fn accepts_html(accept: &[u8]) -> bool {
    accept.split(|b| *b == b',').any(|range| {
        let mut parts = range.split(|b| *b == b';').map(<[u8]>::trim_ascii);
        let is_html = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case(b"text/html"));
        is_html && !parts.any(is_zero_quality)
    })
}

fn is_zero_quality(parameter: &[u8]) -> bool {
    let quality = parameter
        .strip_prefix(b"q=0")
        .or_else(|| parameter.strip_prefix(b"Q=0"));
    quality.is_some_and(|rest| rest.iter().all(|b| matches!(b, b'.' | b'0')))
}

#[cfg(test)]
mod tests;
