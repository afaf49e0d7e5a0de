//! Which document or metric a path names. kube-apiserver's proxy writes a path anew: `*` comes as `%2A`, `|` as `%7C`
//! and `\` as `%5C`.

use super::api::Api;
use super::status::Refusal;
use super::{custom, external};
use percent_encoding::percent_decode;

/// Longer than anything but a selector of a program that ran away. kube-apiserver lets a megabyte pass.
const LONGEST: usize = 64 << 10;

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// `/`.
    Root,
    /// No document, and of no group that is served.
    Elsewhere,
    /// `/healthz` and its like.
    Health,
    /// `/version`.
    Version,
    /// `/apis`.
    Groups,
    /// `/apis/GROUP`.
    Group(&'static str),
    /// `/apis/GROUP/VERSION`.
    Resources(Api),
    /// Below a version, where nothing is.
    Nothing,
}

/// The decoded segments of a path, and its query.
pub(super) fn split(path: &[u8]) -> Result<(Vec<String>, &[u8]), Refusal> {
    if path.len() > LONGEST {
        return Err(Refusal::too_long(LONGEST));
    }
    let path = path.split(|byte| *byte == b'#').next().unwrap_or_default();
    let mut parts = path.splitn(2, |byte| *byte == b'?');
    let (path, query) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let path = path.strip_prefix(b"/").unwrap_or(path);
    let path = path.strip_suffix(b"/").unwrap_or(path);
    // Segments are told apart before they are decoded: an escaped slash is no border.
    let decode = |segment| percent_decode(segment).decode_utf8().map(Into::into);
    let segments: Result<Vec<_>, _> = path.split(|byte| *byte == b'/').map(decode).collect();
    let segments = segments.map_err(|_| Refusal::bad_request("the path is not UTF-8 after percent-decoding"))?;
    Ok((segments, query))
}

pub(super) fn parse(segments: &[String]) -> Target {
    let segments: Vec<_> = segments.iter().map(String::as_str).collect();
    match segments[..] {
        [""] => Target::Root,
        ["healthz" | "livez" | "readyz"] => Target::Health,
        ["version"] => Target::Version,
        ["apis"] => Target::Groups,
        ["apis", custom::GROUP] => Target::Group(custom::GROUP),
        ["apis", external::GROUP] => Target::Group(external::GROUP),
        ["apis", group, version, ref below @ ..] => match Api::named(group, version) {
            Some(api) if below.is_empty() => Target::Resources(api),
            Some(_) => Target::Nothing,
            None => Target::Elsewhere,
        },
        _ => Target::Elsewhere,
    }
}
