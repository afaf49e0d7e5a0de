//! `burstctl doctor`

use super::preview::now;
use super::{End, Terminal};
use crate::args::{Doctor, Output};
use crate::doctor::{self, Verdict};
use crate::live::{Cluster, LiveError};

/// Says whether what is installed works.
pub(super) fn doctor(words: &Doctor, terminal: &mut Terminal<'_>) -> End {
    let checks = match checks(words) {
        Ok(checks) => checks,
        Err(error) => {
            terminal.say(error);
            return End::Unread;
        }
    };
    let written = doctor::write(&checks, words.output, terminal.data());
    let count = |verdict| checks.iter().filter(|check| check.verdict == verdict).count();
    let (troubles, unknown) = (count(Verdict::Trouble), count(Verdict::Unknown));
    if words.output == Output::Text {
        let all = checks.len();
        let counted = format!("{all} check{}", if all == 1 { "" } else { "s" });
        terminal.say(format_args!(
            "{counted}: {troubles} not well, {unknown} could not be made"
        ));
    }
    let end = match (troubles, unknown) {
        (0, 0) => End::Well,
        (_, 0) => End::Objections,
        _ => End::Unread,
    };
    terminal.ended(written, end)
}

fn checks(words: &Doctor) -> Result<Vec<doctor::Check>, LiveError> {
    match &words.admin {
        Some(url) => doctor::local(url, now()),
        None => {
            let cluster = Cluster::of(&words.context)?;
            Ok(doctor::cluster(&cluster, &words.namespace, &words.selector, now()))
        }
    }
}
