//! The arguments of `burstctl hpa simulate`.

use std::path::PathBuf;

use clap::Args;

use super::{KubernetesArgs, SimulateFormat};
use crate::duration::parse_seconds;
use crate::simulate::{Amount, LoadShape};

/// The arguments of `burstctl hpa simulate`.
#[derive(Debug, Args)]
#[command(next_line_help = true)]
pub struct SimulateArgs {
    /// The file with one HPA and optionally its target; `-` is stdin.
    pub file: PathBuf,
    /// The load over time.
    #[command(flatten)]
    pub load: LoadArgs,
    /// How much load one pod serves at most, such as `20rps`
    ///
    /// In rps, all loads are in requests per second; a pod with a utilization as
    /// its target then uses 100 % of its request. The default is the request
    /// itself for a utilization, and otherwise the target and its tolerance.
    #[arg(long, value_name = "LOAD")]
    pub pod_capacity: Option<Amount>,
    /// The output format of the simulation.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: SimulateFormat,
    /// Replicas at the start; the default is minReplicas.
    #[arg(long)]
    pub replicas: Option<i32>,
    /// The time until a new pod is ready: seconds, or text such as `1m30s`.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = startup)]
    pub startup: u32,
    /// The Kubernetes version whose rules apply.
    #[command(flatten)]
    pub cluster: KubernetesArgs,
}

/// The load over time: a shape or a file.
#[derive(Debug, Args)]
#[command(next_line_help = true)]
#[group(required = true, multiple = false)]
pub struct LoadArgs {
    /// The load over time by its shape: `spike`, `ramp`, `daily`, or a constant
    /// load such as `100rps` or `3x`
    ///
    /// A shape may have options behind a colon: the highest load, from=LOAD and
    /// for=DURATION, as in `spike:10x,from=20rps,for=5m`. A load is an amount in
    /// the unit of the metric, in rps (requests per second) or in % (of one
    /// pod's request), or a multiple such as `10x` of the load before.
    ///
    /// By default the load starts with what the initial replicas carry at their
    /// target, and rises to what maxReplicas carry at their target. A spike lasts
    /// 10m, a ramp rises for 10m, and a day has 24h.
    #[arg(long = "load", value_name = "LOAD")]
    pub shape: Option<LoadShape>,
    /// The load over time from a file; `-` is stdin
    ///
    /// Either CSV with a header line, a column `seconds` and a column for each
    /// metric, or the JSON answer of Prometheus to /api/v1/query_range.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
}

fn startup(text: &str) -> Result<u32, &'static str> {
    parse_seconds(text).ok_or("expected whole seconds, such as 30 or 1m30s")
}
