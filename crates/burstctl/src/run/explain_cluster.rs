//! `burstctl hpa explain` with a cluster option

use std::path::PathBuf;

use burst_hpa::Options;
use burst_hpa::status::HpaStatus;

use super::{Outcome, Terminal};
use crate::args::ClusterArgs;
use crate::explain;
use crate::live::{Cluster, LiveError};

/// Explains HPAs of a cluster, with the status its controller wrote.
pub(super) fn explain(
    args: &ClusterArgs,
    subjects: &[PathBuf],
    options: Options,
    terminal: &mut Terminal<'_>,
) -> Outcome {
    let cluster = match connect(args) {
        Ok(cluster) => cluster,
        Err(reason) => {
            terminal.message(reason);
            return Outcome::Incomplete;
        }
    };
    let namespace = args.namespace.as_deref().unwrap_or(cluster.default_namespace());
    let (mut end, mut explanations) = (Outcome::Success, Vec::new());
    for subject in subjects {
        let subject = subject.display().to_string();
        match one(&cluster, namespace, &subject, options) {
            Ok((lines, has_status)) => {
                explanations.push(lines);
                if !has_status {
                    terminal.message(format_args!("{subject}: no controller has written a status yet"));
                }
            }
            Err(reason) => {
                terminal.message(format_args!("{subject}: {reason}"));
                end = Outcome::Incomplete;
            }
        }
    }
    let written = explain::write(&explanations, terminal.data());
    terminal.finish(written, end)
}

fn connect(args: &ClusterArgs) -> Result<Cluster, LiveError> {
    let cluster = Cluster::connect(args)?;
    if let Some(namespace) = &args.namespace {
        cluster.require_namespace(namespace)?;
    }
    Ok(cluster)
}

/// Explains the HPA `NAMESPACE/NAME`, or `NAME` in the namespace of the command line or of the context.
fn one(cluster: &Cluster, namespace: &str, subject: &str, options: Options) -> Result<(Vec<String>, bool), String> {
    let (namespace, name) = subject.split_once('/').unwrap_or((namespace, subject));
    let hpa = cluster.hpa(namespace, name).map_err(|error| error.to_string())?;
    let status = HpaStatus::of(&hpa);
    let lines = explain::explain(&hpa, status.as_ref(), options).map_err(|error| error.to_string())?;
    Ok((lines, status.is_some()))
}
