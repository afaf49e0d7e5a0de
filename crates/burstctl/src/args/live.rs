//! The words of what speaks to a cluster.

use std::path::PathBuf;

use clap::Args;

use super::Output;

/// `burstctl preview`
///
/// Reads HPAs, Services and the workloads behind them as the filter would, joins them as the filter would, and writes
/// nothing. Your user needs the verb list on each of them; whether the proxy's ServiceAccount has it is for `doctor`.
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

/// `burstctl doctor`
///
/// Looks, and changes nothing. Your user needs the verb list on pods and on the Istio kinds in the gateway's namespace,
/// create on subjectaccessreviews.authorization.k8s.io, and get and create on pods/portforward there.
///
/// Ends with 0 if every check is well, with 1 if one is not, with 2 if one could not be made.
#[derive(Debug, Args)]
pub struct Doctor {
    /// The kubeconfig context; the current one if not given.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub context: String,
    /// The gateway's namespace.
    #[arg(short, long, default_value = "istio-system")]
    pub namespace: String,
    /// The labels of the gateway's pods.
    #[arg(short = 'l', long, value_name = "LABELS", default_value = "istio=ingressgateway")]
    pub selector: String,
    /// Ask the admin interface of one Envoy, as http://127.0.0.1:9901, and no cluster.
    #[arg(long, value_name = "URL", conflicts_with_all = ["context", "namespace", "selector"])]
    pub admin: Option<String>,
    /// How it is written.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Output,
}

/// `burstctl policy check`
///
/// Reads every ExternalMetricPolicy, and says of each whether the filter takes it. Your user needs the verb list on
/// externalmetricpolicies.burstmetrics.dev, and with --write-status patch on externalmetricpolicies/status.
///
/// Ends with 0 if all are policies, with 1 if one is not, with 2 if they could not be read or a status not be written.
#[derive(Debug, Args)]
pub struct PolicyCheck {
    /// The kubeconfig context; the current one if not given.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub context: String,
    /// Write what is found into the status of each, where it is not there yet.
    #[arg(long)]
    pub write_status: bool,
    /// How it is written.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Output,
}
