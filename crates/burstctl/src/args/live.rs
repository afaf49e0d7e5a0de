//! The arguments of commands that connect to a cluster.

use std::path::PathBuf;

use clap::Args;

use super::OutputFormat;

/// The arguments of `burstctl preview`.
#[derive(Debug, Args)]
#[command(next_line_help = true)]
pub struct PreviewArgs {
    /// The kubeconfig context; the default is the current one.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub context: String,
    /// Read only this namespace; then a Role in it is enough.
    #[arg(short, long)]
    pub namespace: Option<String>,
    /// Read all namespaces of the configuration. This is the default.
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub all_namespaces: bool,
    /// A file with the filter's configuration as JSON or YAML, or with a
    /// WasmPlugin, TrafficExtension or EnvoyFilter that contains it; `-` is
    /// stdin
    #[arg(verbatim_doc_comment, long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The output format.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// The arguments of `burstctl doctor`.
#[derive(Debug, Args)]
#[command(next_line_help = true)]
pub struct DoctorArgs {
    /// The kubeconfig context; the default is the current one.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub context: String,
    /// The namespace of the gateway.
    #[arg(short, long, default_value = "istio-system")]
    pub namespace: String,
    /// The labels of the gateway's pods.
    #[arg(short = 'l', long, value_name = "LABELS", default_value = "istio=ingressgateway")]
    pub selector: String,
    /// Check only the Envoy with this admin interface, such as
    /// http://127.0.0.1:9901, and no cluster
    #[arg(verbatim_doc_comment, long, value_name = "URL", conflicts_with_all = ["context", "namespace", "selector"])]
    pub admin: Option<String>,
    /// The output format.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// The arguments of `burstctl policy check`.
#[derive(Debug, Args)]
#[command(next_line_help = true)]
pub struct PolicyCheckArgs {
    /// The kubeconfig context; the default is the current one.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub context: String,
    /// The namespace whose policies apply to all namespaces. Its policies get
    /// their share of the memory first
    #[arg(verbatim_doc_comment, long, value_name = "NAMESPACE")]
    pub root_namespace: Option<String>,
    /// Write the result to the status of each policy whose status differs.
    #[arg(long)]
    pub write_status: bool,
    /// The output format.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: OutputFormat,
}
