//! A table for people: a line for each Service, what is odd below it, and at the end what to do, once for each reason.

use std::collections::BTreeMap;
use std::io;

use clap::builder::styling::{AnsiColor, Style};

use super::{ABSENT, ABSENT_ADVICE, BAD, BAD_ADVICE, Preview};
use crate::printer::Printer;

/// Between the columns.
const GAP: &str = "  ";

const HEADING: Style = Style::new().bold();
const NONE: Style = Style::new().dimmed();
const TROUBLE: Style = AnsiColor::Yellow.on_default();

/// A line of the table.
struct Row {
    first: String,
    second: String,
    style: Style,
}

pub(super) fn write(preview: &Preview, printer: &mut Printer<'_>) -> io::Result<()> {
    let (lines, advice) = lines(preview);
    let width = lines.iter().map(|line| line.first.chars().count()).max().unwrap_or(0);
    for Row { first, second, style } in &lines {
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

/// The lines, and what to do about each reason in them.
fn lines(preview: &Preview) -> (Vec<Row>, BTreeMap<&'static str, &'static str>) {
    let mut table = Table::default();
    table.row("SERVICE", preview.header.clone(), HEADING);
    for service_preview in &preview.services {
        match &service_preview.value {
            Ok(value) => table.row(&service_preview.of.to_string(), value.clone(), Style::new()),
            Err(why) => {
                let style = if why.is_problem() { TROUBLE } else { NONE };
                let first = service_preview.of.to_string();
                table.reason(&first, why, (why.word(), why.advice()), style);
            }
        }
        for remark in &service_preview.remarks {
            let style = if remark.is_problem() { TROUBLE } else { NONE };
            table.reason("", remark, (remark.as_str(), remark.advice()), style);
        }
    }
    for unmatched_hpa in &preview.unmatched_hpas {
        table.reason(
            "-",
            unmatched_hpa,
            (unmatched_hpa.as_str(), unmatched_hpa.advice()),
            TROUBLE,
        );
    }
    for (kind, bad) in &preview.bad {
        let words = format!("{kind} {}: {}", bad.name, bad.reason);
        table.reason("-", words, (BAD, BAD_ADVICE), TROUBLE);
    }
    for resource in &preview.absent {
        let words = format!("the cluster does not serve {resource}");
        table.reason("-", words, (ABSENT, ABSENT_ADVICE), NONE);
    }
    (table.lines, table.advice)
}

#[derive(Default)]
struct Table {
    lines: Vec<Row>,
    advice: BTreeMap<&'static str, &'static str>,
}

impl Table {
    fn row(&mut self, first: &str, second: String, style: Style) {
        let first = first.to_owned();
        self.lines.push(Row { first, second, style });
    }

    fn reason(
        &mut self,
        first: &str,
        words: impl std::fmt::Display,
        (word, advice): (&'static str, &'static str),
        style: Style,
    ) {
        self.row(first, format!("{word}: {words}"), style);
        self.advice.insert(word, advice);
    }
}
