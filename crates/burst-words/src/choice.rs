//! Enums whose variants are words.

use crate::{Refusal, Tree};
use serde::de::Error;

/// Makes a [`Word`](crate::Word) of an enum: `choice!(Source { "kubernetes" => Kubernetes, "hub" => Hub })`.
#[macro_export]
macro_rules! choice {
    ($type:ident { $($word:literal => $variant:ident),* $(,)? }) => {
        impl $crate::Word for $type {
            fn read(written: $crate::Tree) -> Result<Self, $crate::Refusal> {
                let word = $crate::word_of(written, concat!("enum ", stringify!($type)))?;
                match word.as_str() {
                    $($word => Ok(Self::$variant),)*
                    other => Err($crate::unknown(other, &[$($word),*])),
                }
            }
        }
    };
}

/// What is written as a text, for an enum of that name.
///
/// # Errors
/// It is no text.
#[doc(hidden)]
pub fn word_of(written: Tree, expected: &str) -> Result<String, Refusal> {
    match written {
        Tree::Text(word) => Ok(word),
        other => Err(other.is_not(expected)),
    }
}

/// The refusal of a word that is none of these.
#[doc(hidden)]
#[must_use]
pub fn unknown(word: &str, known: &'static [&'static str]) -> Refusal {
    Refusal::unknown_variant(word, known)
}
