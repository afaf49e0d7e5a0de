//! What is served: every answer is a pure function of the [`picture`].

mod answer;
pub mod burst;
pub mod header;
pub mod picture;

pub use answer::{Answer, has_tag};
pub use picture::{Absence, Picture};
