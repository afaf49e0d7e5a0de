//! The words of what policies say.

use std::path::PathBuf;

use burst_labels::content;
use clap::{Args, ValueEnum};

use super::Output;
use crate::user::{HPA_CONTROLLER, groups_of};

/// Which policies, and whose queries.
#[derive(Clone, Debug, Args)]
pub struct PolicyArgs {
    /// ExternalMetricPolicies, or the filter's configuration with those in it: YAML or JSON files, directories of them,
    /// or `-` for stdin.
    #[arg(value_name = "POLICY", required = true)]
    pub files: Vec<PathBuf>,
    /// The namespace whose objects are for all; what the configuration says if not given.
    #[arg(long, value_name = "NAMESPACE", value_parser = namespace)]
    pub root_namespace: Option<String>,
    /// What becomes of a query that no policy is for; what the configuration says if not given, and otherwise `allow`.
    #[arg(long, value_enum)]
    pub default: Option<DefaultDecisionArg>,
    /// Who asks; the HPA controller if not given.
    #[arg(long, default_value = HPA_CONTROLLER, hide_default_value = true)]
    pub user: String,
    /// The groups of who asks; those that every such user is in if not given.
    #[arg(long = "group", value_name = "GROUP")]
    groups: Vec<String>,
}

/// A name that a namespace can have: no object is in any other, and every policy would be for its own namespace.
fn namespace(word: &str) -> Result<String, String> {
    match content::dns_label(word).into_iter().next() {
        None => Ok(word.to_owned()),
        Some(reason) => Err(reason),
    }
}

impl PolicyArgs {
    /// The groups of who asks.
    #[must_use]
    pub fn groups(&self) -> Vec<String> {
        if self.groups.is_empty() {
            groups_of(&self.user)
        } else {
            self.groups.clone()
        }
    }
}

/// What becomes of a query that no policy is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DefaultDecisionArg {
    /// It passes.
    Allow,
    /// It is refused.
    Deny,
}

/// `burstctl policy test`
#[derive(Debug, Args)]
pub struct PolicyTestArgs {
    /// Which policies.
    #[command(flatten)]
    pub policies: PolicyArgs,
    /// HPAs: files, directories of them, or `-` for stdin.
    #[arg(long = "hpa", value_name = "FILE", required = true)]
    pub hpas: Vec<PathBuf>,
    /// How it is written.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Output,
}

/// `burstctl policy admission`
#[derive(Debug, Args)]
pub struct PolicyAdmissionArgs {
    /// Which policies.
    #[command(flatten)]
    pub policies: PolicyArgs,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_namespace_is_one_that_can_be() {
        assert_eq!(namespace("istio-system"), Ok("istio-system".to_owned()));
        for (word, reason) in [
            ("a.b", "must not contain dots"),
            ("", "RFC 1123 label"),
            ("Root", "RFC 1123 label"),
        ] {
            assert!(namespace(word).unwrap_err().contains(reason), "{word}");
        }
    }
}
