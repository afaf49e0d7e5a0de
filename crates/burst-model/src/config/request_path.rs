//! Parts of the configuration that only the full module supports.

use serde::{Deserialize, Deserializer};
use std::ops::{Deref, DerefMut};

/// Configuration of something that needs to see requests.
///
/// With the feature `header-only` this type has no values. The compiler knows that, and leaves out all code that would use
/// one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestPath<T>(Inner<T>);

#[cfg(not(feature = "header-only"))]
type Inner<T> = T;
#[cfg(feature = "header-only")]
type Inner<T> = (std::convert::Infallible, std::marker::PhantomData<T>);

/// Why the header-only module refuses a key.
pub(super) const NEEDS_FULL_MODULE: &str = "is not supported by the header-only module, which does not see requests; use the full module on the port that \
     gets those requests";

#[cfg(not(feature = "header-only"))]
impl<T> RequestPath<T> {
    /// Wraps a value. Returns `None` in the header-only module.
    pub(super) fn new(value: T) -> Option<Self> {
        Some(Self(value))
    }

    /// Returns the value.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.0
    }

    fn inner(&self) -> &T {
        &self.0
    }

    fn inner_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

#[cfg(feature = "header-only")]
impl<T> RequestPath<T> {
    pub(super) fn new(_: T) -> Option<Self> {
        None
    }

    /// Returns the value.
    #[must_use]
    pub fn into_inner(self) -> T {
        match self.0.0 {}
    }

    fn inner(&self) -> &T {
        match self.0.0 {}
    }

    fn inner_mut(&mut self) -> &mut T {
        match self.0.0 {}
    }
}

impl<T> Deref for RequestPath<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.inner()
    }
}

impl<T> DerefMut for RequestPath<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.inner_mut()
    }
}

#[cfg(not(feature = "header-only"))]
impl<'de, T: Deserialize<'de>> Deserialize<'de> for RequestPath<T> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        T::deserialize(json).map(Self)
    }
}

#[cfg(feature = "header-only")]
impl<'de, T> Deserialize<'de> for RequestPath<T> {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom(NEEDS_FULL_MODULE))
    }
}
