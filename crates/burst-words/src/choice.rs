//! Enums whose variants are words.

use crate::{Refusal, Tree};
use serde::de::Error;

/// Makes a [`Word`](crate::Word) of an enum: `choice!(Source { "kubernetes" => Kubernetes, "hub" => Hub })`.
#[macro_export]
macro_rules! choice {
    ($type:ident { $($word:literal => $variant:ident),* $(,)? }) => {
        impl $crate::Word for $type {
            fn read(written: $crate::Tree) -> Result<Self, $crate::Refusal> {
                let expected = concat!("enum ", stringify!($type));
                $crate::choose(written, expected, &[$($word),*], &[$(Self::$variant),*])
            }
        }
    };
}

/// What one of `words` means: that one of `meanings` which stands in the same place.
///
/// # Errors
/// It is none of them.
#[doc(hidden)]
pub fn choose<T: Copy>(
    written: Tree,
    expected: &str,
    words: &'static [&'static str],
    meanings: &[T],
) -> Result<T, Refusal> {
    let Tree::Text(word) = written else {
        return Err(written.is_not(expected));
    };
    let place = words.iter().position(|known| *known == word);
    let meaning = place.and_then(|place| meanings.get(place)).copied();
    meaning.ok_or_else(|| Refusal::unknown_variant(&word, words))
}
