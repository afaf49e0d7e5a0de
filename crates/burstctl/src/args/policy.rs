//! The arguments of the commands about policies.

use std::path::PathBuf;

use burst_labels::content;
use clap::{Args, ValueEnum};

use super::OutputFormat;
use crate::user::{HPA_CONTROLLER, groups_of};

/// The policies, and the user whose queries they decide.
#[derive(Clone, Debug, Args)]
#[command(next_line_help = true)]
pub struct PolicyArgs {
    /// ExternalMetricPolicies, or the filter's configuration that contains
    /// policies: YAML or JSON files, directories of them, or `-` for stdin
    #[arg(value_name = "POLICY", required = true)]
    pub files: Vec<PathBuf>,
    /// The namespace whose policies apply to all namespaces; the default is
    /// the one in the configuration
    #[arg(long, value_name = "NAMESPACE", value_parser = namespace)]
    pub root_namespace: Option<String>,
    /// The decision for a query that no policy applies to; the default is
    /// the one in the configuration, otherwise `allow`
    #[arg(long, value_enum)]
    pub default: Option<DefaultDecisionArg>,
    /// The user who sends the queries; the default is the HPA controller.
    #[arg(long, default_value = HPA_CONTROLLER, hide_default_value = true)]
    pub user: String,
    /// A group of that user; the default is the groups that Kubernetes puts
    /// every such user into
    #[arg(long = "group", value_name = "GROUP")]
    groups: Vec<String>,
}

/// Parses a namespace. An invalid name would match no object, so no policy would apply to all namespaces.
pub(super) fn namespace(word: &str) -> Result<String, String> {
    match content::dns_label(word).into_iter().next() {
        None => Ok(word.to_owned()),
        Some(reason) => Err(reason),
    }
}

impl PolicyArgs {
    /// Returns the groups of the user.
    #[must_use]
    pub fn groups(&self) -> Vec<String> {
        if self.groups.is_empty() {
            groups_of(&self.user)
        } else {
            self.groups.clone()
        }
    }
}

/// The decision for a query that no policy applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DefaultDecisionArg {
    /// Allow it.
    Allow,
    /// Refuse it.
    Deny,
}

/// The arguments of `burstctl policy test`.
#[derive(Debug, Args)]
#[command(next_line_help = true)]
pub struct PolicyTestArgs {
    /// The policies.
    #[command(flatten)]
    pub policies: PolicyArgs,
    /// HPAs: files, directories of them, or `-` for stdin.
    #[arg(long = "hpa", value_name = "FILE", required = true)]
    pub hpas: Vec<PathBuf>,
    /// The output format.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// The arguments of `burstctl policy admission`.
#[derive(Debug, Args)]
#[command(next_line_help = true)]
pub struct PolicyAdmissionArgs {
    /// The policies.
    #[command(flatten)]
    pub policies: PolicyArgs,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_namespace_must_be_a_valid_name() {
        assert_eq!(namespace("istio-system"), Ok("istio-system".to_owned()));
        for (name, reason) in [
            ("a.b", "must not contain dots"),
            ("", "RFC 1123 label"),
            ("Root", "RFC 1123 label"),
        ] {
            assert!(namespace(name).unwrap_err().contains(reason), "{name}");
        }
    }
}
