//! `burstctl doctor`

use super::preview::now;
use super::{Outcome, Terminal};
use crate::args::{DoctorArgs, OutputFormat};
use crate::doctor::{self, Verdict};
use crate::live::{Cluster, LiveError};

/// Runs all checks and writes the results.
pub(super) fn doctor(args: &DoctorArgs, terminal: &mut Terminal<'_>) -> Outcome {
    let checks = match checks(args) {
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

fn checks(args: &DoctorArgs) -> Result<Vec<doctor::Check>, LiveError> {
    match &args.admin {
        Some(url) => doctor::check_envoy(url, now()),
        None => {
            let cluster = Cluster::of_context(&args.context)?;
            Ok(doctor::check_cluster(&cluster, &args.namespace, &args.selector, now()))
        }
    }
}
