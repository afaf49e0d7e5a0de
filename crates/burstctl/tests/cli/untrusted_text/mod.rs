//! Foreign text in what the command prints: names, labels, messages, file names and answers that carry terminal escapes,
//! line breaks, bidirectional overrides and workflow commands. Whatever an object says, a line stays a line of ours.

#[cfg(feature = "live")]
mod cluster;
mod files;
mod text;
