//! The number of an open stream.

/// An open stream. The number is unique in the VM, such as the id of the stream's context.
///
/// With the feature `header-only` this type has no values, because that module is no upstream filter. The compiler knows
/// that, and leaves out all code that would use one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamId(Number);

#[cfg(not(feature = "header-only"))]
type Number = u32;
#[cfg(feature = "header-only")]
type Number = std::convert::Infallible;

#[cfg(not(feature = "header-only"))]
impl StreamId {
    /// The stream with that number. `None` in the header-only module.
    #[must_use]
    pub fn new(number: u32) -> Option<Self> {
        Some(Self(number))
    }

    /// Its number.
    #[must_use]
    pub fn number(self) -> u32 {
        self.0
    }
}

#[cfg(feature = "header-only")]
impl StreamId {
    /// `None`: this module has no streams.
    #[must_use]
    pub fn new(_: u32) -> Option<Self> {
        None
    }

    /// Its number.
    #[must_use]
    pub fn number(self) -> u32 {
        match self.0 {}
    }
}
