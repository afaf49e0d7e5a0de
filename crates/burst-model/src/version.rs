//! The version of the filter as a number, because the value of a stat is a number. A version in the name of a stat would leave an
//! unused stat behind after every update.

use std::fmt;

/// A version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    major: u64,
    minor: u64,
    patch: u64,
}

/// The minor and patch versions are below this. <https://semver.org/> sets no limit, but real versions stay below it.
const PART_LIMIT: u64 = 1000;

impl Version {
    /// Returns the version of this crate, which is that of the filter and the command built with it.
    #[must_use]
    pub fn own() -> Option<Self> {
        Self::parse(env!("CARGO_PKG_VERSION"))
    }

    /// Reads a version such as `1.2.3`, and ignores everything after a `-` or `+`.
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

    /// Returns the version for the value of a stat; `None` for 0, the value of an unset stat.
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

    /// Returns the version as a number: 1002003 for `1.2.3`.
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
        assert_eq!(Version::from_number(0), None, "an unset gauge");
    }

    #[test]
    fn an_invalid_version_is_refused() {
        assert_eq!(Version::parse("1.2.3-rc.1"), Version::parse("1.2.3"));
        for text in ["", "1", "1.2", "1.2.3.4", "1.2.x", "1.1000.0", "v1.2.3"] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
        assert!(Version::own().is_some());
    }
}
