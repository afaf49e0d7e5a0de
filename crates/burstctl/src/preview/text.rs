//! A table for people: a line for each Service with its findings below, and at the end the advice for each reason.

use std::collections::BTreeMap;
use std::io;

use clap::builder::styling::{AnsiColor, Style};

use super::{ABSENT, ABSENT_ADVICE, BAD, BAD_ADVICE, Preview};
use crate::printer::Printer;

/// The space between the columns.
const GAP: &str = "  ";

const HEADING: Style = Style::new().bold();
const NONE: Style = Style::new().dimmed();
const PROBLEM: Style = AnsiColor::Yellow.on_default();

/// A line of the table.
struct TableRow {
    first: String,
    second: String,
    style: Style,
}

pub(super) fn write(preview: &Preview, printer: &mut Printer<'_>) -> io::Result<()> {
    let (lines, advice) = lines(preview);
    let width = lines.iter().map(|line| line.first.chars().count()).max().unwrap_or(0);
    for TableRow { first, second, style } in &lines {
        printer.styled_line(&[(*style, &format_args!("{first:width$}{GAP}{second}"))])?;
    }
    if !advice.is_empty() {
        printer.line("")?;
    }
    for (reason, advice) in advice {
        printer.line(format_args!("{reason}: {advice}"))?;
    }
    Ok(())
}

/// Returns the lines of the table, and the advice for each reason in them.
fn lines(preview: &Preview) -> (Vec<TableRow>, BTreeMap<&'static str, &'static str>) {
    let mut table = Table::default();
    table.row("SERVICE", preview.header.clone(), HEADING);
    for service_preview in &preview.services {
        match &service_preview.value {
            Ok(value) => table.row(&service_preview.service.to_string(), value.clone(), Style::new()),
            Err(no_header) => {
                let style = if no_header.is_problem() { PROBLEM } else { NONE };
                let first = service_preview.service.to_string();
                table.reason(&first, no_header, (no_header.as_str(), no_header.advice()), style);
            }
        }
        for remark in &service_preview.remarks {
            let style = if remark.is_problem() { PROBLEM } else { NONE };
            table.reason("", remark, (remark.as_str(), remark.advice()), style);
        }
    }
    for unmatched_hpa in &preview.unmatched_hpas {
        table.reason(
            "-",
            unmatched_hpa,
            (unmatched_hpa.as_str(), unmatched_hpa.advice()),
            PROBLEM,
        );
    }
    for (kind, bad) in &preview.bad {
        let detail = format!("{kind} {}: {}", bad.name, bad.reason);
        table.reason("-", detail, (BAD, BAD_ADVICE), PROBLEM);
    }
    for resource in &preview.absent {
        let detail = format!("the cluster does not serve {resource}");
        table.reason("-", detail, (ABSENT, ABSENT_ADVICE), NONE);
    }
    (table.lines, table.advice)
}

#[derive(Default)]
struct Table {
    lines: Vec<TableRow>,
    advice: BTreeMap<&'static str, &'static str>,
}

impl Table {
    fn row(&mut self, first: &str, second: String, style: Style) {
        let first = first.to_owned();
        self.lines.push(TableRow { first, second, style });
    }

    fn reason(
        &mut self,
        first: &str,
        detail: impl std::fmt::Display,
        (reason, advice): (&'static str, &'static str),
        style: Style,
    ) {
        self.row(first, format!("{reason}: {detail}"), style);
        self.advice.insert(reason, advice);
    }
}
