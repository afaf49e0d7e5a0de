//! What is served: every answer is a pure function of the [`picture`].

pub mod burst;
pub mod header;
pub mod picture;

pub use picture::{Absence, Picture};
