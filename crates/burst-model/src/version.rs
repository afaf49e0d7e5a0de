//! The filter's version as a number: a stat holds nothing else, and a version in a stat's name would leave one behind
//! for every update.

use std::fmt;

/// A version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    major: u64,
    minor: u64,
    patch: u64,
}

/// Of each part but the first. <https://semver.org/> sets no limit; nobody comes near this one.
const PART_LIMIT: u64 = 1000;

impl Version {
    /// The version of this crate, and so of the filter and the command that were built with it.
    #[must_use]
    pub fn own() -> Option<Self> {
        Self::parse(env!("CARGO_PKG_VERSION"))
    }

    /// Takes `1.2.3`; what stands behind a `-` or `+` does not count.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(['-', '+']).next()?.split('.').map(str::parse);
        let mut part = || parts.next()?.ok();
        let version = Self {
            major: part()?,
            minor: part()?,
            patch: part()?,
        };
        (version.minor < PART_LIMIT && version.patch < PART_LIMIT && parts.next().is_none()).then_some(version)
    }

    /// The version that a stat shows; `None` for 0, which is no version.
    #[must_use]
    pub const fn from_number(number: u64) -> Option<Self> {
        if number == 0 {
            return None;
        }
        Some(Self {
            major: number / (PART_LIMIT * PART_LIMIT),
            minor: number / PART_LIMIT % PART_LIMIT,
            patch: number % PART_LIMIT,
        })
    }

    /// `1.2.3` as 1002003.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.major
            .saturating_mul(PART_LIMIT * PART_LIMIT)
            .saturating_add(self.minor * PART_LIMIT + self.patch)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { major, minor, patch } = self;
        write!(f, "{major}.{minor}.{patch}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_holds_a_version() {
        for (text, number) in [("0.1.0", 1000), ("1.2.3", 1_002_003), ("12.345.999", 12_345_999)] {
            let version = Version::parse(text).unwrap();
            assert_eq!(version.number(), number, "{text}");
            assert_eq!(Version::from_number(number), Some(version), "{text}");
            assert_eq!(version.to_string(), text);
        }
        assert_eq!(Version::from_number(0), None, "a gauge that nobody set");
    }

    #[test]
    fn what_is_no_version_is_none() {
        assert_eq!(Version::parse("1.2.3-rc.1"), Version::parse("1.2.3"));
        for text in ["", "1", "1.2", "1.2.3.4", "1.2.x", "1.1000.0", "v1.2.3"] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
        assert!(Version::own().is_some());
    }
}
