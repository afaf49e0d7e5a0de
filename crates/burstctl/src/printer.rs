//! The only way to stdout and stderr. What others wrote, in names, labels, messages and files, gets there as text: no
//! terminal obeys it, it begins no line, and a CI runner that reads the output finds no command of its own in it.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write};

use burst_printable::{Printable, is_printable};
use clap::builder::styling::Style;
use serde::Serialize;

/// Lines for people, and data for programs.
///
/// There is no way to write a string as it is but [`encoded`](Self::encoded), so a new line of output cannot forget to
/// escape what it quotes.
pub struct Printer<'a> {
    out: Box<dyn Write + 'a>,
    styled: bool,
}

impl<'a> Printer<'a> {
    /// On `out`; `styled` is for a terminal that shows colours.
    pub fn new(out: impl Write + 'a, styled: bool) -> Self {
        let out = Box::new(out);
        Self { out, styled }
    }

    /// Returns whether it has colours.
    #[must_use]
    pub fn is_styled(&self) -> bool {
        self.styled
    }

    /// Exactly one line, whatever `text` has in it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn line(&mut self, text: impl Display) -> io::Result<()> {
        self.styled_line(&[(Style::new(), &text)])
    }

    /// Exactly one line of parts, each in its style.
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

    /// The lines of a renderer that was given [`Printable`] text and has added its own line breaks and colours.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn rendered_lines(&mut self, lines: &str) -> io::Result<()> {
        if self.styled {
            return writeln!(self.out, "{lines}");
        }
        // There are no colours of ours among these, so nothing is lost if the renderer has forgotten a character.
        lines.split('\n').try_for_each(|line| {
            writeln!(
                self.out,
                "{}",
                escape_workflow_commands(&Printable::whole(line).to_string())
            )
        })
    }

    /// A JSON value on a line of its own.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let json = serde_json::to_string(value)?;
        writeln!(self.out, "{}", escape_json(&json))
    }

    /// A JSON value on as many lines as it takes.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn pretty_json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let json = serde_json::to_string_pretty(value)?;
        writeln!(self.out, "{}", escape_json(&json))
    }

    /// Text of ours, or of an encoder that escapes what is not printable, as [`to_yaml`](crate::yaml::to_yaml) does.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn raw(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())
    }

    /// Sends what was written so far.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// JSON with what serde leaves as it is although a terminal obeys it. Outside of strings JSON is ASCII without DEL.
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
                let units = character.encode_utf16(&mut units).iter();
                text.extend(units.map(|unit| format!("\\u{unit:04x}")));
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
    let text = text.replace("##[", "##\\[");
    format!("{indent}{}{text}", if at_start { "\\" } else { "" }).into()
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
    fn a_line_is_one_line_and_no_command() {
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
    fn json_says_the_same_in_characters_that_are_printable() {
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
