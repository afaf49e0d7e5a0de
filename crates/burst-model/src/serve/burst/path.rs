//! The paths under the prefix: `/KIND` and `/KIND/NAMESPACE/NAME`, with or without a trailing slash, and the parameter
//! `wait`. Other parameters are ignored.

use crate::config::duration::{self, NotADuration};
use percent_encoding::percent_decode;
use std::borrow::Cow;
use std::time::Duration;

/// The longest path that is parsed. A kind and two names are shorter, even percent-encoded.
const MAX_BYTES: usize = 2048;

/// The target of a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BurstPath<'a> {
    /// All rows of a kind.
    Bulk { kind: Cow<'a, str> },
    /// One row, by `namespace/name`.
    Single { kind: Cow<'a, str>, name: String },
}

/// Why a path has no target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InvalidPath {
    TooLong,
    NotText,
    Malformed,
}

impl BurstPath<'_> {
    pub(super) fn kind(&self) -> &str {
        match self {
            Self::Bulk { kind } | Self::Single { kind, .. } => kind,
        }
    }
}

/// Parses the part of a path after the prefix, with or without a query.
pub(super) fn parse(path: &[u8]) -> Result<BurstPath<'_>, InvalidPath> {
    if path.len() > MAX_BYTES {
        return Err(InvalidPath::TooLong);
    }
    let path = path.split(|b| matches!(b, b'?' | b'#')).next().unwrap_or_default();
    let path = path.strip_prefix(b"/").ok_or(InvalidPath::Malformed)?;
    let path = path.strip_suffix(b"/").unwrap_or(path);
    // Segments are split before they are decoded, so that an encoded slash does not separate them.
    let segments: Result<Vec<_>, _> = path.split(|b| *b == b'/').map(decode).collect();
    match &mut segments?[..] {
        [kind] if !kind.is_empty() => Ok(BurstPath::Bulk {
            kind: std::mem::take(kind),
        }),
        [kind, namespace, name] if ![&*kind, namespace, name].iter().any(|segment| segment.is_empty()) => {
            Ok(BurstPath::Single {
                name: format!("{namespace}/{name}"),
                kind: std::mem::take(kind),
            })
        }
        _ => Err(InvalidPath::Malformed),
    }
}

/// Parses the parameter `wait` of a path: for how long the request may wait for a change. `None` if there is none.
pub(super) fn wait(path: &[u8]) -> Result<Option<Duration>, NotADuration> {
    let path = path.split(|b| *b == b'#').next().unwrap_or_default();
    let query = path.splitn(2, |b| *b == b'?').nth(1).unwrap_or_default();
    let mut parameters = query.split(|b| *b == b'&');
    let Some(wait) = parameters.find_map(|parameter| parameter.strip_prefix(b"wait=")) else {
        return Ok(None);
    };
    let wait = decode(wait).map_err(|_| NotADuration)?;
    duration::parse(&wait).map(Some)
}

fn decode(segment: &[u8]) -> Result<Cow<'_, str>, InvalidPath> {
    percent_decode(segment).decode_utf8().map_err(|_| InvalidPath::NotText)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_have_one_segment_or_three() {
        let bulk = |kind: &'static str| Ok(BurstPath::Bulk { kind: kind.into() });
        let single = |name: &str| {
            Ok(BurstPath::Single {
                kind: "services".into(),
                name: name.into(),
            })
        };
        for (path, target) in [
            ("/services", bulk("services")),
            ("/services/", bulk("services")),
            ("/services?watch=1", bulk("services")),
            ("/services/?a=/b/c", bulk("services")),
            ("/serv%69ces", bulk("services")),
            ("/services/shop/web", single("shop/web")),
            ("/services/shop/web/", single("shop/web")),
            ("/services/sh%6Fp/web?x", single("shop/web")),
            ("/services/shop/a%2Fb", single("shop/a/b")),
            ("", Err(InvalidPath::Malformed)),
            ("/", Err(InvalidPath::Malformed)),
            ("//", Err(InvalidPath::Malformed)),
            ("//services", Err(InvalidPath::Malformed)),
            ("/services//", Err(InvalidPath::Malformed)),
            ("/services/shop", Err(InvalidPath::Malformed)),
            ("/services//web", Err(InvalidPath::Malformed)),
            ("/services/shop/web/x", Err(InvalidPath::Malformed)),
            ("/services/%ff", Err(InvalidPath::NotText)),
        ] {
            assert_eq!(parse(path.as_bytes()), target, "{path}");
        }
        assert_eq!(parse(&[b'/'; MAX_BYTES + 1]), Err(InvalidPath::TooLong));
    }

    #[test]
    fn the_wait_is_a_parameter_of_the_query() {
        for (path, expected) in [
            ("/services", Ok(None)),
            ("/services?", Ok(None)),
            ("/services?watch=1", Ok(None)),
            ("/services?await=1s", Ok(None)),
            ("/wait=1s", Ok(None)),
            ("/services#?wait=1s", Ok(None)),
            ("/services?wait=10s", Ok(Some(10_000))),
            ("/services/?a=b&wait=1m30s&wait=1s", Ok(Some(90_000))),
            ("/services?wait=500%6Ds", Ok(Some(500))),
            ("/services?wait=0s#x", Ok(Some(0))),
            ("/services?wait=", Err(NotADuration)),
            ("/services?wait=10", Err(NotADuration)),
            ("/services?wait=-1s", Err(NotADuration)),
            ("/services?wait=%ff", Err(NotADuration)),
        ] {
            assert_eq!(
                wait(path.as_bytes()),
                expected.map(|wait| wait.map(Duration::from_millis)),
                "{path}"
            );
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(path in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = parse(&path);
            let _ = wait(&path);
        }
    }
}
