//! Enumerations that Kubernetes writes as strings.

/// An enumeration with a fixed set of values: `FromStr` refuses any other value.
macro_rules! closed {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$doc])* $variant),+ }

        impl $name {
            /// Every value.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The value as Kubernetes writes it.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant)),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::string_enum::UnknownValue;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|value| value.as_str() == text)
                    .ok_or_else(|| $crate::string_enum::UnknownValue::new(text, &[$(stringify!($variant)),+]))
            }
        }
    };
}

/// An enumeration that may grow: values of a newer cluster are kept in `Other`.
macro_rules! open {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$doc])* $variant,)+
            /// A value that this crate does not know.
            Other(String),
        }

        impl $name {
            /// The value as Kubernetes writes it.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self { $(Self::$variant => stringify!($variant),)+ Self::Other(value) => value }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl From<&str> for $name {
            fn from(value: &str) -> Self {
                match value { $(stringify!($variant) => Self::$variant,)+ other => Self::Other(other.to_owned()) }
            }
        }
    };
}

pub(crate) use {closed, open};

/// A value that the enumeration does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown value {value:?}, expected one of {}", allowed.join(", "))]
pub struct UnknownValue {
    value: String,
    allowed: &'static [&'static str],
}

impl UnknownValue {
    pub(crate) fn new(value: &str, allowed: &'static [&'static str]) -> Self {
        Self {
            value: value.to_owned(),
            allowed,
        }
    }
}
