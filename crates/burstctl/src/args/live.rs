//! The words of what speaks to a cluster.

use std::path::PathBuf;

use clap::Args;

use super::Output;

/// `burstctl preview`
#[derive(Debug, Args)]
pub struct PreviewArgs {
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
#[derive(Debug, Args)]
pub struct DoctorArgs {
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
#[derive(Debug, Args)]
pub struct PolicyCheckArgs {
    /// The kubeconfig context; the current one if not given.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub context: String,
    /// The namespace whose objects are for all: its policies get room first.
    #[arg(long, value_name = "NAMESPACE")]
    pub root_namespace: Option<String>,
    /// Write what is found into the status of each, where it is not there yet.
    #[arg(long)]
    pub write_status: bool,
    /// How it is written.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Output,
}
