//! `burstctl hpa explain --context`

use std::path::PathBuf;

use burst_hpa::Options;
use burst_hpa::status::HpaStatus;

use super::{Outcome, Terminal};
use crate::{explain, live};

/// Explains HPAs of a cluster, with the status its controller wrote.
pub(super) fn explain(context: &str, subjects: &[PathBuf], options: Options, terminal: &mut Terminal<'_>) -> Outcome {
    let (mut end, mut explanations) = (Outcome::Success, Vec::new());
    for subject in subjects {
        let subject = subject.display().to_string();
        match one(context, &subject, options) {
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

fn one(context: &str, subject: &str, options: Options) -> Result<(Vec<String>, bool), String> {
    let (namespace, name) = subject.split_once('/').ok_or("expected NAMESPACE/NAME")?;
    let hpa = live::fetch(context, namespace, name).map_err(|error| error.to_string())?;
    let status = HpaStatus::of(&hpa);
    let lines = explain::explain(&hpa, status.as_ref(), options).map_err(|error| error.to_string())?;
    Ok((lines, status.is_some()))
}
