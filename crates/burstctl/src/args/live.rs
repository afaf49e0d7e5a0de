//! The arguments of commands that connect to a cluster.

use std::path::PathBuf;

use clap::Args;

use super::OutputFormat;

/// The arguments of `burstctl preview`.
#[derive(Debug, Args)]
#[command(next_line_help = true)]
pub struct PreviewArgs {
    /// A file with the filter's configuration as JSON or YAML, or with a
    /// WasmPlugin, TrafficExtension or EnvoyFilter that contains it; `-` is
    /// stdin
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The output format.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// The arguments of `burstctl doctor`.
#[derive(Debug, Args)]
#[command(next_line_help = true)]
pub struct DoctorArgs {
    /// The labels of the gateway's pods.
    #[arg(short = 'l', long, value_name = "LABELS", default_value = "istio=ingressgateway")]
    pub selector: String,
    /// Check only the Envoy with this admin interface, such as
    /// http://127.0.0.1:9901, and no cluster
    #[arg(long, value_name = "URL", conflicts_with = "selector")]
    pub admin: Option<String>,
    /// The output format.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// The arguments of `burstctl policy check`.
#[derive(Debug, Args)]
#[command(next_line_help = true)]
pub struct PolicyCheckArgs {
    /// The namespace whose policies apply to all namespaces. Its policies get
    /// their share of the memory first
    #[arg(long, value_name = "NAMESPACE")]
    pub root_namespace: Option<String>,
    /// Write the result to the status of each policy whose status differs.
    #[arg(long)]
    pub write_status: bool,
    /// The output format.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: OutputFormat,
}
