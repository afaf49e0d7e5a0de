//! `burstctl hpa explain --context`

use std::path::PathBuf;

use burst_hpa::Options;
use burst_hpa::status::Status;

use super::{End, Terminal};
use crate::{explain, live};

/// Explains HPAs of a cluster, with the status its controller wrote.
pub(super) fn explain(context: &str, subjects: &[PathBuf], options: Options, terminal: &mut Terminal<'_>) -> End {
    let (mut end, mut told) = (End::Well, Vec::new());
    for subject in subjects {
        let subject = subject.display().to_string();
        match one(context, &subject, options) {
            Ok((lines, seen)) => {
                told.push(lines);
                if !seen {
                    terminal.say(format_args!("{subject}: no controller has written a status yet"));
                }
            }
            Err(reason) => {
                terminal.say(format_args!("{subject}: {reason}"));
                end = End::Unread;
            }
        }
    }
    let written = explain::write(&told, terminal.data());
    terminal.ended(written, end)
}

fn one(context: &str, subject: &str, options: Options) -> Result<(Vec<String>, bool), String> {
    let (namespace, name) = subject.split_once('/').ok_or("expected NAMESPACE/NAME")?;
    let hpa = live::fetch(context, namespace, name).map_err(|error| error.to_string())?;
    let status = Status::of(&hpa);
    let lines = explain::explain(&hpa, status.as_ref(), options).map_err(|error| error.to_string())?;
    Ok((lines, status.is_some()))
}
