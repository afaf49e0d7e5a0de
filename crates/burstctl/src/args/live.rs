//! The words of what speaks to a cluster.

use std::path::PathBuf;

use clap::Args;

use super::Output;

/// `burstctl preview`
///
/// Reads HPAs, Services and the workloads behind them as the filter would, joins them as the filter would, and writes
/// nothing. Your user needs the verb list on each of them.
///
/// Ends with 0 if all is well, with 1 if something is autoscaled and the header does not tell, or not all: an HPA that
/// no controller has looked at, two HPAs on one workload, an HPA that scales nothing that is read, an object that cannot
/// be read; with 2 if a list could not be had. A Service without a selector, a workload or an HPA is nothing to object
/// to.
#[derive(Debug, Args)]
pub struct Preview {
    /// The kubeconfig context; the current one if not given.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub context: String,
    /// Only this namespace; a Role in it is enough then.
    #[arg(short, long)]
    pub namespace: Option<String>,
    /// All namespaces that the filter would read, which is the default.
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub all_namespaces: bool,
    /// The filter's configuration, as JSON or YAML, or a WasmPlugin, TrafficExtension or EnvoyFilter that has it in it;
    /// `-` is stdin.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// How it is written.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Output,
}
