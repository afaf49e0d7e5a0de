//! A table for people: a line for each Service, what is odd below it, and at the end what to do, once for each reason.

use std::collections::BTreeMap;
use std::io;

use clap::builder::styling::{AnsiColor, Style};

use super::{ABSENT, ABSENT_ADVICE, BAD, BAD_ADVICE, Preview};
use crate::page::Page;

/// Between the columns.
const GAP: &str = "  ";

const HEAD: Style = Style::new().bold();
const NONE: Style = Style::new().dimmed();
const TROUBLE: Style = AnsiColor::Yellow.on_default();

/// A line of the table.
struct Line {
    first: String,
    second: String,
    style: Style,
}

pub(super) fn write(preview: &Preview, page: &mut Page<'_>) -> io::Result<()> {
    let (lines, advice) = lines(preview);
    let wide = lines.iter().map(|line| line.first.chars().count()).max().unwrap_or(0);
    for Line { first, second, style } in &lines {
        page.parts(&[(*style, &format_args!("{first:wide$}{GAP}{second}"))])?;
    }
    if !advice.is_empty() {
        page.line("")?;
    }
    for (reason, advice) in advice {
        page.line(format_args!("{reason}: {advice}"))?;
    }
    Ok(())
}

/// The lines, and what to do about each reason in them.
fn lines(preview: &Preview) -> (Vec<Line>, BTreeMap<&'static str, &'static str>) {
    let mut table = Table::default();
    table.line("SERVICE", preview.header.clone(), HEAD);
    for told in &preview.services {
        match &told.value {
            Ok(value) => table.line(&told.of.to_string(), value.clone(), Style::new()),
            Err(why) => {
                let style = if why.is_trouble() { TROUBLE } else { NONE };
                let first = told.of.to_string();
                table.reason(&first, why, (why.word(), why.advice()), style);
            }
        }
        for remark in &told.remarks {
            let style = if remark.is_problem() { TROUBLE } else { NONE };
            table.reason("", remark, (remark.as_str(), remark.advice()), style);
        }
    }
    for astray in &preview.astray {
        table.reason("-", astray, (astray.as_str(), astray.advice()), TROUBLE);
    }
    for (kind, bad) in &preview.bad {
        let words = format!("{kind} {}: {}", bad.name, bad.reason);
        table.reason("-", words, (BAD, BAD_ADVICE), TROUBLE);
    }
    for resource in &preview.absent {
        let words = format!("the cluster does not know {resource}");
        table.reason("-", words, (ABSENT, ABSENT_ADVICE), NONE);
    }
    (table.lines, table.advice)
}

#[derive(Default)]
struct Table {
    lines: Vec<Line>,
    advice: BTreeMap<&'static str, &'static str>,
}

impl Table {
    fn line(&mut self, first: &str, second: String, style: Style) {
        let first = first.to_owned();
        self.lines.push(Line { first, second, style });
    }

    fn reason(
        &mut self,
        first: &str,
        words: impl std::fmt::Display,
        (word, advice): (&'static str, &'static str),
        style: Style,
    ) {
        self.line(first, format!("{word}: {words}"), style);
        self.advice.insert(word, advice);
    }
}
