//! What a single value can be.

use crate::{Refusal, Tree};
use serde::de::{Error, Unexpected};
use std::collections::BTreeMap;

/// Something that can be written as JSON. [`form!`](crate::form) makes one of a struct, [`choice!`](crate::choice) of an
/// enum.
pub trait Word: Sized {
    /// Takes what is written.
    ///
    /// # Errors
    /// It cannot be that.
    fn read(written: Tree) -> Result<Self, Refusal>;
}

impl Tree {
    /// The refusal of what is of another type.
    pub(crate) fn is_not(&self, expected: &str) -> Refusal {
        Refusal::invalid_type(self.unexpected(), &expected)
    }
}

impl Word for bool {
    fn read(written: Tree) -> Result<Self, Refusal> {
        match written {
            Tree::Bool(value) => Ok(value),
            other => Err(other.is_not("a boolean")),
        }
    }
}

impl Word for u32 {
    fn read(written: Tree) -> Result<Self, Refusal> {
        let expected = "u32";
        match written {
            Tree::Unsigned(value) => {
                let refusal = |_| Refusal::invalid_value(Unexpected::Unsigned(value), &expected);
                Self::try_from(value).map_err(refusal)
            }
            // A number without a sign is never one of these.
            Tree::Signed(value) => Err(Refusal::invalid_value(Unexpected::Signed(value), &expected)),
            other => Err(other.is_not(expected)),
        }
    }
}

impl Word for String {
    fn read(written: Tree) -> Result<Self, Refusal> {
        match written {
            Tree::Text(text) => Ok(text),
            other => Err(other.is_not("a string")),
        }
    }
}

impl<T: Word> Word for Option<T> {
    fn read(written: Tree) -> Result<Self, Refusal> {
        match written {
            Tree::Null => Ok(None),
            some => T::read(some).map(Some),
        }
    }
}

impl<T: Word> Word for Vec<T> {
    fn read(written: Tree) -> Result<Self, Refusal> {
        let Tree::List(items) = written else {
            return Err(written.is_not("a sequence"));
        };
        let mut read = Self::new();
        for (place, item) in items.into_iter().enumerate() {
            read.push(T::read(item).map_err(|refusal| refusal.below(&format!("[{place}]")))?);
        }
        Ok(read)
    }
}

/// Of a key that stands there twice the last is taken.
impl<T: Word> Word for BTreeMap<String, T> {
    fn read(written: Tree) -> Result<Self, Refusal> {
        let Tree::Object(fields) = written else {
            return Err(written.is_not("a map"));
        };
        let mut read = Self::new();
        for (key, value) in fields {
            let value = T::read(value).map_err(|refusal| refusal.below(&key))?;
            read.insert(key, value);
        }
        Ok(read)
    }
}
