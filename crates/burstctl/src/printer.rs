//! The only way to stdout and stderr. Text from names, labels, messages and files is escaped: a terminal executes none of
//! it, it starts no new line, and a CI runner finds no command in it.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write};

use burst_hpa::Node;
use burst_printable::{Printable, is_printable};
use clap::builder::styling::Style;
use serde::Serialize;

use crate::yaml::to_yaml;

/// The format of objects for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectFormat {
    /// One object per line.
    Json,
    /// One document per object.
    Yaml,
}

/// Writes lines for people and data for programs.
///
/// Only [`raw`](Self::raw) writes a string unescaped, so that new output cannot forget to escape.
pub struct Printer<'a> {
    out: Box<dyn Write + 'a>,
    styled: bool,
}

impl<'a> Printer<'a> {
    /// Writes to `out`; `styled` adds colours.
    pub fn new(out: impl Write + 'a, styled: bool) -> Self {
        let out = Box::new(out);
        Self { out, styled }
    }

    /// Returns whether the output has colours.
    #[must_use]
    pub fn is_styled(&self) -> bool {
        self.styled
    }

    /// Writes exactly one line.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn line(&mut self, text: impl Display) -> io::Result<()> {
        self.styled_line(&[(Style::new(), &text)])
    }

    /// Writes one line of several parts, each with a style.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn styled_line(&mut self, parts: &[(Style, &dyn Display)]) -> io::Result<()> {
        if !self.styled {
            let line: String = parts.iter().map(|(_, text)| Printable::new(text).to_string()).collect();
            return writeln!(self.out, "{}", escape_workflow_commands(&line));
        }
        for (style, text) in parts {
            write!(self.out, "{style}{}{style:#}", Printable::new(text))?;
        }
        writeln!(self.out)
    }

    /// Writes the lines of a renderer whose input was [`Printable`].
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn rendered_lines(&mut self, lines: &str) -> io::Result<()> {
        if self.styled {
            return writeln!(self.out, "{lines}");
        }
        // Without colours, escape again in case the renderer missed a character.
        lines.split('\n').try_for_each(|line| {
            writeln!(
                self.out,
                "{}",
                escape_workflow_commands(&Printable::whole(line).to_string())
            )
        })
    }

    /// Writes a JSON value on one line.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let json = serde_json::to_string(value)?;
        writeln!(self.out, "{}", escape_json(&json))
    }

    /// Writes an object: a line of JSON, or a YAML document.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn object(&mut self, value: &impl Serialize, format: ObjectFormat) -> io::Result<()> {
        match format {
            ObjectFormat::Json => self.json(value),
            ObjectFormat::Yaml => {
                let json = serde_json::to_string(value)?;
                let node = Node::from_json(&json).map_err(|error| io::Error::other(error.to_string()))?;
                self.raw(&format!("---\n{}", to_yaml(&node)))
            }
        }
    }

    /// Writes a JSON value on several lines.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn pretty_json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let json = serde_json::to_string_pretty(value)?;
        writeln!(self.out, "{}", escape_json(&json))
    }

    /// Writes text that is our own or already escaped, such as that of [`to_yaml`].
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn raw(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())
    }

    /// Flushes the output.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Escapes characters that a terminal would execute and that serde does not escape. Outside of strings JSON is ASCII
/// without DEL.
fn escape_json(json: &str) -> Cow<'_, str> {
    let is_printable_or_newline = |character: char| character == '\n' || is_printable(character);
    if json.chars().all(is_printable_or_newline) {
        return json.into();
    }
    let mut units = [0; 2];
    json.chars()
        .fold(String::with_capacity(json.len()), |mut text, character| {
            if is_printable_or_newline(character) {
                text.push(character);
            } else {
                let encoded = character.encode_utf16(&mut units).iter();
                text.extend(encoded.map(|unit| format!("\\u{unit:04x}")));
            }
            text
        })
        .into()
}

/// The line with a backslash where a runner of GitHub Actions would find a command: `::` at its beginning, or `##[`
/// anywhere. <https://github.com/actions/runner/blob/v2.328.0/src/Runner.Common/ActionCommand.cs>
#[must_use]
pub fn escape_workflow_commands(line: &str) -> Cow<'_, str> {
    let text = line.trim_start();
    let at_start = text.starts_with("::");
    if !at_start && !line.contains("##[") {
        return line.into();
    }
    let indent = line.strip_suffix(text).unwrap_or_default();
    let escaped = text.replace("##[", "##\\[");
    format!("{indent}{}{escaped}", if at_start { "\\" } else { "" }).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(styled: bool, write: impl FnOnce(&mut Printer<'_>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut Printer::new(&mut out, styled)).unwrap();
        String::from_utf8(out).unwrap()
    }

    const HOSTILE: &str = "::error::a\n\u{1b}[2J##[debug]\u{9b}b";

    #[test]
    fn text_is_one_line_without_workflow_commands() {
        let line = |text: &str| printed(false, |printer| printer.line(text));
        assert_eq!(line("shop/web: well"), "shop/web: well\n");
        assert_eq!(line(HOSTILE), "\\::error::a␊␛[2J##\\[debug]\u{fffd}b\n");
        assert_eq!(line("  ::group::"), "  \\::group::\n");
        assert_eq!(line("a::b # ##"), "a::b # ##\n");
        let split = printed(false, |printer| {
            printer.styled_line(&[(Style::new(), &"##"), (Style::new(), &"[a]")])
        });
        assert_eq!(split, "##\\[a]\n");
    }

    #[test]
    fn only_our_own_colours_reach_a_terminal() {
        let bold = Style::new().bold();
        let line = printed(true, |printer| {
            printer.styled_line(&[(bold, &"a\u{1b}[31m"), (Style::new(), &"\u{7}")])
        });
        assert_eq!(line, format!("{bold}a␛[31m{bold:#}␇\n"));
    }

    #[test]
    fn json_escapes_unprintable_characters() {
        for text in [HOSTILE, "\u{7f}\u{202e}\u{e0041}\"\\", "é ✓"] {
            for json in [
                printed(false, |printer| printer.json(&[text])),
                printed(false, |printer| printer.pretty_json(&[text])),
            ] {
                assert!(json.chars().all(|c| c == '\n' || is_printable(c)), "{json:?}");
                assert_eq!(serde_json::from_str::<[String; 1]>(&json).unwrap(), [text]);
            }
        }
    }
}
