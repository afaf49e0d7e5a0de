//! `burstctl doctor`

use super::preview::now;
use super::{Outcome, Terminal};
use crate::args::{ClusterArgs, DoctorArgs, OutputFormat};
use crate::doctor::{self, Verdict};
use crate::live::{Cluster, LiveError};

/// Runs all checks and writes the results.
pub(super) fn doctor(args: &DoctorArgs, cluster: &ClusterArgs, terminal: &mut Terminal<'_>) -> Outcome {
    let checks = match checks(args, cluster) {
        Ok(checks) => checks,
        Err(error) => {
            terminal.message(error);
            return Outcome::Incomplete;
        }
    };
    let written = doctor::write(&checks, args.output, terminal.data());
    let count = |verdict| checks.iter().filter(|check| check.verdict == verdict).count();
    let (problems, unknown) = (count(Verdict::Problem), count(Verdict::Unknown));
    if args.output == OutputFormat::Text {
        let all = checks.len();
        let counted = format!("{all} check{}", if all == 1 { "" } else { "s" });
        terminal.message(format_args!("{counted}: {problems} failed, {unknown} unknown"));
    }
    let end = match (problems, unknown) {
        (0, 0) => Outcome::Success,
        (_, 0) => Outcome::ProblemsFound,
        _ => Outcome::Incomplete,
    };
    terminal.finish(written, end)
}

/// The namespace of the gateway in Istio's own installation.
const DEFAULT_NAMESPACE: &str = "istio-system";

fn checks(args: &DoctorArgs, cluster: &ClusterArgs) -> Result<Vec<doctor::Check>, LiveError> {
    match &args.admin {
        Some(url) => doctor::check_envoy(url, now()),
        None => {
            let namespace = cluster.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
            doctor::check_cluster(&Cluster::connect(cluster)?, namespace, &args.selector, now())
        }
    }
}
