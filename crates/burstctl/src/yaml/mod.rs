//! YAML and JSON as kubectl and the apiserver read them, with the place of every value.
//!
//! Kubernetes reads YAML 1.1 through <https://github.com/kubernetes-sigs/yaml>: `on` is a boolean, `010` is eight, keys
//! are merged with `<<`. The grammar is that of `saphyr-parser`, without what it reads otherwise than
//! Kubernetes; what scalars mean is decided here.

mod build;
mod characters;
mod comments;
mod json;
mod locate;
mod merge;
mod refuse;
mod scalar;
mod split;
mod tabs;
mod tag;
mod tree;
mod write;

pub use comments::first_comment;
pub use split::documents;
pub use tree::{Document, Key, Mark, Span, SyntaxError, Tree, Value};
pub use write::to_yaml;
