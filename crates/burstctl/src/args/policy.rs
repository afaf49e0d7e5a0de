//! The words of what policies say.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Output;
use crate::policy::{CONTROLLER, CONTROLLER_GROUPS};

/// Which policies, and whose queries.
#[derive(Clone, Debug, Args)]
pub struct Policies {
    /// ExternalMetricPolicies, or the filter's configuration with those in it: YAML or JSON files, directories of them,
    /// or `-` for stdin.
    #[arg(value_name = "POLICY", required = true)]
    pub files: Vec<PathBuf>,
    /// The namespace whose objects are for all; what the configuration says if not given.
    #[arg(long, value_name = "NAMESPACE")]
    pub root_namespace: Option<String>,
    /// What becomes of a query that no policy is for; what the configuration says if not given, and otherwise `allow`.
    #[arg(long, value_enum)]
    pub default: Option<Fallback>,
    /// Who asks; the HPA controller if not given.
    #[arg(long, default_value = CONTROLLER, hide_default_value = true)]
    pub user: String,
    /// The groups of who asks; those of the HPA controller if not given.
    #[arg(long = "group", value_name = "GROUP", default_values = CONTROLLER_GROUPS, hide_default_value = true)]
    pub groups: Vec<String>,
}

/// What becomes of a query that no policy is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Fallback {
    /// It passes.
    Allow,
    /// It is refused.
    Deny,
}

/// `burstctl policy test`
///
/// Ends with 0 if every external metric passes, with 1 if one is refused, with 2 if a policy is none or something could
/// not be read.
#[derive(Debug, Args)]
pub struct PolicyTest {
    /// Which policies.
    #[command(flatten)]
    pub policies: Policies,
    /// HPAs: files, directories of them, or `-` for stdin.
    #[arg(long = "hpa", value_name = "FILE", required = true)]
    pub hpas: Vec<PathBuf>,
    /// How it is written.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Output,
}

/// `burstctl policy admission`
///
/// The HPAs that are there already are not looked at until they change.
#[derive(Debug, Args)]
pub struct PolicyAdmission {
    /// Which policies.
    #[command(flatten)]
    pub policies: Policies,
}
