//! The runbook of docs/operating.md has an entry for each stat and for each line at a level above info.
//!
//! Every story takes part: a proxy that goes checks the lines that the filter logged in it.

use super::stats::documented;
use crate::host::LogLine;
use proxy_wasm::types::LogLevel;
use std::collections::BTreeSet;

const RUNBOOK: &str = include_str!("../../../docs/operating.md");
const STATS: &str = include_str!("../../../docs/stats.md");
const TROUBLESHOOTING: &str = include_str!("../../../docs/troubleshooting.md");

/// The lines of the runbook, with `…` for text that differs.
fn patterns() -> impl Iterator<Item = &'static str> {
    let (_, section) = RUNBOOK.split_once("\n## Log lines\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    section
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` |").map(|(pattern, _)| pattern))
}

/// Whether a text has all parts of the pattern, one after the other, and begins with the first.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('…');
    let first = parts.next().unwrap_or_default();
    let rest = text.strip_prefix(first);
    parts
        .try_fold(rest, |rest, part| Some(rest?.split_once(part).map(|(_, after)| after)))
        .flatten()
        .is_some()
}

/// Checks that the runbook has an entry for a line of the filter, unless its level is info or lower.
pub(super) fn check_line(line: &LogLine) {
    let is_routine = matches!(line.level, LogLevel::Trace | LogLevel::Debug | LogLevel::Info);
    assert!(
        is_routine || patterns().any(|pattern| fits(pattern, &line.text)),
        "docs/operating.md has no entry for this log line: {line}"
    );
}

#[test]
fn a_pattern_fits_its_lines_and_no_others() {
    assert!(fits("cannot list …: …; …", "cannot list services: 403; ask"));
    assert!(fits("… is in quarantine: …", "the snapshot is in quarantine: why"));
    assert!(!fits("cannot list …: …; …", "cannot list services: 403"));
    assert!(!fits("excluded …: …", "it is excluded x: y"));
    assert_eq!(patterns().count(), 22);
}

#[test]
fn the_runbook_and_the_troubleshooting_have_an_entry_for_each_stat() {
    let (_, section) = RUNBOOK.split_once("\n## Stats\n").unwrap();
    let entries = documented(section);
    let explained = documented(TROUBLESHOOTING);
    let stats = documented(STATS);
    let missing: Vec<_> = stats
        .iter()
        .filter(|stat| !entries.contains(*stat) && !explained.contains(*stat))
        .collect();
    assert_eq!(missing, Vec::<&&str>::new());
    let twice: BTreeSet<_> = entries
        .intersection(&explained)
        .filter(|name| name.starts_with("burst_"))
        .collect();
    assert_eq!(twice, BTreeSet::new(), "link to the troubleshooting instead");
    let unknown: Vec<_> = entries
        .iter()
        .filter(|name| name.starts_with("burst_") && !stats.contains(*name))
        .collect();
    assert_eq!(unknown, Vec::<&&str>::new());
}
