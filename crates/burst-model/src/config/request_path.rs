//! What only the full module has.

use burst_words::{Refusal, Tree, Word};
use std::ops::{Deref, DerefMut};

/// Something that needs to see requests. With the feature `header-only` there is no value of it, and the compiler, which
/// knows that, leaves out all that would be done with one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestPath<T>(Held<T>);

#[cfg(not(feature = "header-only"))]
type Held<T> = T;
#[cfg(feature = "header-only")]
type Held<T> = (std::convert::Infallible, std::marker::PhantomData<T>);

/// Why something is refused in the header-only module.
pub(super) const NEEDS_FULL_MODULE: &str =
    "cannot be had in the header-only module, which sees no requests; use the full one";

#[cfg(not(feature = "header-only"))]
impl<T> RequestPath<T> {
    /// `None` in the header-only module.
    pub(super) fn new(value: T) -> Option<Self> {
        Some(Self(value))
    }

    /// The thing itself.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.0
    }

    fn held(&self) -> &T {
        &self.0
    }

    fn held_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

#[cfg(feature = "header-only")]
impl<T> RequestPath<T> {
    pub(super) fn new(_: T) -> Option<Self> {
        None
    }

    /// The thing itself.
    #[must_use]
    pub fn into_inner(self) -> T {
        match self.0.0 {}
    }

    fn held(&self) -> &T {
        match self.0.0 {}
    }

    fn held_mut(&mut self) -> &mut T {
        match self.0.0 {}
    }
}

impl<T> Deref for RequestPath<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.held()
    }
}

impl<T> DerefMut for RequestPath<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.held_mut()
    }
}

impl<T: Word> Word for RequestPath<T> {
    #[cfg(not(feature = "header-only"))]
    fn read(written: Tree) -> Result<Self, Refusal> {
        T::read(written).map(Self)
    }

    #[cfg(feature = "header-only")]
    fn read(_: Tree) -> Result<Self, Refusal> {
        Err(serde::de::Error::custom(NEEDS_FULL_MODULE))
    }
}
