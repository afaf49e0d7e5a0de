//! Untrusted text in the output of commands: names, labels, messages, file names and responses with terminal escapes,
//! line breaks, bidirectional overrides and workflow commands. None of it may start a line of the output.

#[cfg(feature = "live")]
mod cluster;
mod files;
mod text;
