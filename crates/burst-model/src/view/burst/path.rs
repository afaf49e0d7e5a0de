//! The paths below the prefix: `/KIND` and `/KIND/NAMESPACE/NAME`, with or without a slash at the end.

use percent_encoding::percent_decode;
use std::borrow::Cow;

/// Longer than any two names and a kind can be, escaped or not.
const LONGEST: usize = 2048;

/// What a path asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target<'a> {
    /// All rows of a kind.
    Bulk { kind: Cow<'a, str> },
    /// One row, by `namespace/name`.
    Single { kind: Cow<'a, str>, of: String },
}

/// Why a path asks for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BadPath {
    TooLong,
    NotText,
    Shape,
}

impl Target<'_> {
    pub(super) fn kind(&self) -> &str {
        match self {
            Self::Bulk { kind } | Self::Single { kind, .. } => kind,
        }
    }
}

/// Reads what stands behind the prefix, the query included.
pub(super) fn parse(path: &[u8]) -> Result<Target<'_>, BadPath> {
    if path.len() > LONGEST {
        return Err(BadPath::TooLong);
    }
    let path = path.split(|b| matches!(b, b'?' | b'#')).next().unwrap_or_default();
    let path = path.strip_prefix(b"/").ok_or(BadPath::Shape)?;
    let path = path.strip_suffix(b"/").unwrap_or(path);
    // Segments are told apart before they are decoded: an escaped slash is no border.
    let segments: Result<Vec<_>, _> = path.split(|b| *b == b'/').map(decode).collect();
    match &mut segments?[..] {
        [kind] if !kind.is_empty() => Ok(Target::Bulk {
            kind: std::mem::take(kind),
        }),
        [kind, namespace, name] if ![&*kind, namespace, name].iter().any(|segment| segment.is_empty()) => {
            Ok(Target::Single {
                of: format!("{namespace}/{name}"),
                kind: std::mem::take(kind),
            })
        }
        _ => Err(BadPath::Shape),
    }
}

fn decode(segment: &[u8]) -> Result<Cow<'_, str>, BadPath> {
    percent_decode(segment).decode_utf8().map_err(|_| BadPath::NotText)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_have_one_segment_or_three() {
        let bulk = |kind: &'static str| Ok(Target::Bulk { kind: kind.into() });
        let single = |of: &str| {
            Ok(Target::Single {
                kind: "services".into(),
                of: of.into(),
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
            ("", Err(BadPath::Shape)),
            ("/", Err(BadPath::Shape)),
            ("//", Err(BadPath::Shape)),
            ("//services", Err(BadPath::Shape)),
            ("/services//", Err(BadPath::Shape)),
            ("/services/shop", Err(BadPath::Shape)),
            ("/services//web", Err(BadPath::Shape)),
            ("/services/shop/web/x", Err(BadPath::Shape)),
            ("/services/%ff", Err(BadPath::NotText)),
        ] {
            assert_eq!(parse(path.as_bytes()), target, "{path}");
        }
        assert_eq!(parse(&[b'/'; LONGEST + 1]), Err(BadPath::TooLong));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_survived(path in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = parse(&path);
        }
    }
}
