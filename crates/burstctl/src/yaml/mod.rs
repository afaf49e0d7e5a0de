//! YAML and JSON as kubectl and the apiserver read them, with the position of every value.
//!
//! Kubernetes reads YAML 1.1 through <https://github.com/kubernetes-sigs/yaml>: `on` is a boolean, `010` is eight, keys
//! are merged with `<<`. The grammar comes from `libyaml-safer`; what a scalar means is decided here. `tests/yaml` compares
//! all of it with the reader of Kubernetes.

mod build;
mod characters;
mod comments;
mod document;
mod json;
mod lines;
mod merge;
mod parser;
mod scalar;
mod split;
mod tag;
mod write;

pub use comments::first_comment;
pub use document::{Document, SyntaxError};
pub use split::documents;
pub use write::to_yaml;
