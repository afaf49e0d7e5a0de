//! The paths under the prefix: `/KIND` and `/KIND/NAMESPACE/NAME`, with or without a trailing slash.

use percent_encoding::percent_decode;
use std::borrow::Cow;

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

/// Decodes a segment, or the value of a parameter.
pub(super) fn decode(segment: &[u8]) -> Result<Cow<'_, str>, InvalidPath> {
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

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(path in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = parse(&path);
        }
    }
}
