//! The options that choose the cluster and the namespace, as in kubectl. Every command accepts them at any place.

use std::path::PathBuf;

use clap::Args;

use super::policy::namespace;
use super::{Burstctl, Command, HpaCommand, PolicyCommand};

/// The cluster and the namespace.
#[derive(Clone, Debug, Default, Args)]
#[command(next_line_help = true, next_help_heading = "Cluster options")]
pub struct ClusterArgs {
    /// The kubeconfig context. The default is the current one, and so is ""
    #[arg(long, value_name = "NAME", global = true)]
    pub context: Option<String>,
    /// The kubeconfig file. The default is $KUBECONFIG, otherwise ~/.kube/config
    #[arg(long, value_name = "FILE", global = true)]
    pub kubeconfig: Option<PathBuf>,
    /// The namespace to read
    #[arg(short, long, value_name = "NAME", global = true, value_parser = namespace)]
    pub namespace: Option<String>,
    /// Read all namespaces
    #[arg(short = 'A', long, global = true, conflicts_with = "namespace")]
    pub all_namespaces: bool,
}

impl ClusterArgs {
    /// Returns the arguments for a context of the default kubeconfig; an empty one is the current context.
    #[must_use]
    pub fn of_context(context: &str) -> Self {
        Self {
            context: Some(context.to_owned()),
            ..Self::default()
        }
    }

    /// Returns whether one of the options was given.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.first_beyond(Scope::None).is_some()
    }

    /// Returns the first option that a command with this scope would ignore.
    fn first_beyond(&self, scope: Scope) -> Option<&'static str> {
        [
            (self.context.is_some(), Scope::Cluster, "--context"),
            (self.kubeconfig.is_some(), Scope::Cluster, "--kubeconfig"),
            (self.namespace.is_some(), Scope::Namespace, "--namespace"),
            (self.all_namespaces, Scope::AllNamespaces, "--all-namespaces"),
        ]
        .into_iter()
        .find_map(|(is_given, needed, option)| (is_given && scope < needed).then_some(option))
    }
}

/// The part of a cluster that a command lets its user choose. A larger one includes the smaller ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Scope {
    /// The command reads no cluster.
    None,
    /// A cluster.
    Cluster,
    /// A namespace of a cluster.
    Namespace,
    /// A namespace or all of them.
    AllNamespaces,
}

impl Command {
    fn scope(&self) -> Scope {
        match self {
            Self::Preview(_)
            | Self::Hpa {
                command: HpaCommand::Lint(_),
            } => Scope::AllNamespaces,
            // An Envoy is checked without a cluster.
            Self::Doctor(args) if args.admin.is_some() => Scope::None,
            Self::Doctor(_)
            | Self::Hpa {
                command: HpaCommand::Explain(_),
            } => Scope::Namespace,
            Self::Proxy(_)
            | Self::Policy {
                command: PolicyCommand::Check(_),
            } => Scope::Cluster,
            Self::Hpa { .. }
            | Self::Policy { .. }
            | Self::Istio { .. }
            | Self::Completion(_)
            | Self::Version(_)
            | Self::Man(_) => Scope::None,
        }
    }
}

impl Burstctl {
    /// Returns the first cluster option that the command would ignore. An ignored namespace would surprise its user.
    #[must_use]
    pub fn ignored_option(&self) -> Option<&'static str> {
        self.cluster.first_beyond(self.command.scope())
    }
}
