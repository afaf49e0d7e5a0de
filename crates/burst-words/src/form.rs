//! Structs: forms with a field for each key.
//!
//! What `serde` derives for a struct is a function of its own, with all that can be wrong in it; of a large configuration
//! those were a twelfth of the Wasm module. Here a struct says where its fields are, and one function fills in any.

use crate::{Refusal, Tree, Word};
use serde::de::Error;

/// Makes a [`Word`](crate::Word) of a struct that has a `Default`, which is what stays where nothing is written:
/// `form!(Cluster { name: required, service })`. A key may be another than its field: `{ match_labels = "matchLabels" }`.
/// A key that no field has is refused.
#[macro_export]
macro_rules! form {
    ($type:ident { $($field:ident $(= $key:literal)? $(: $required:ident)?),* $(,)? }) => {
        impl $crate::Word for $type {
            fn read(written: $crate::Tree) -> Result<Self, $crate::Refusal> {
                let mut form = Self::default();
                let Self { $($field),* } = &mut form;
                $crate::fill_in(
                    written,
                    concat!("struct ", stringify!($type)),
                    &[$($crate::form!(@key $field $($key)?)),*],
                    &mut [$($crate::form!(@field $field $($required)?)),*],
                )?;
                Ok(form)
            }
        }
    };
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
    (@field $field:ident) => { $crate::Field::optional($field) };
    (@field $field:ident required) => { $crate::Field::required($field) };
}

/// The place of a value in a form.
#[doc(hidden)]
pub struct Field<'a> {
    value: &'a mut dyn Slot,
    is_required: bool,
    is_filled: bool,
}

impl<'a> Field<'a> {
    /// May be left out.
    #[must_use]
    pub fn optional<T: Word>(value: &'a mut T) -> Self {
        Self {
            value,
            is_required: false,
            is_filled: false,
        }
    }

    /// May not.
    #[must_use]
    pub fn required<T: Word>(value: &'a mut T) -> Self {
        Self {
            is_required: true,
            ..Self::optional(value)
        }
    }
}

/// A [`Word`] of any type.
trait Slot {
    fn fill(&mut self, written: Tree) -> Result<(), Refusal>;
}

impl<T: Word> Slot for T {
    fn fill(&mut self, written: Tree) -> Result<(), Refusal> {
        *self = T::read(written)?;
        Ok(())
    }
}

/// Puts what is written below each of `keys` into that one of `fields` which stands in the same place.
///
/// # Errors
/// The first thing that is wrong; and after that, what is missing.
#[doc(hidden)]
pub fn fill_in(
    written: Tree,
    expected: &str,
    keys: &'static [&'static str],
    fields: &mut [Field<'_>],
) -> Result<(), Refusal> {
    let Tree::Object(pairs) = written else {
        return Err(written.is_not(expected));
    };
    for (key, value) in pairs {
        let Some((name, field)) = keys.iter().zip(&mut *fields).find(|(name, _)| **name == key) else {
            return Err(Refusal::unknown_field(&key, keys).below(&key));
        };
        if field.is_filled {
            return Err(Refusal::duplicate_field(name));
        }
        field.value.fill(value).map_err(|refusal| refusal.below(&key))?;
        field.is_filled = true;
    }
    let missing = |(_, field): &(_, &Field<'_>)| field.is_required && !field.is_filled;
    match keys.iter().zip(fields.iter()).find(missing) {
        Some((key, _)) => Err(Refusal::missing_field(key)),
        None => Ok(()),
    }
}
