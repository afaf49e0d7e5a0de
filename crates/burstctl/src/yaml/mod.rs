//! Reads YAML and JSON as kubectl and the apiserver do, with the position of every value.
//!
//! Kubernetes reads YAML 1.1 through <https://github.com/kubernetes-sigs/yaml>: `on` is a boolean, `010` is eight, and
//! `<<` merges keys. `libyaml-safer` parses the grammar, and this module resolves the scalars. `tests/yaml` compares
//! the result with the reader of Kubernetes.

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
