//! A row of terminal cells as SVG. Block characters become rectangles, because fonts draw them with gaps between the rows.

use std::collections::BTreeMap;
use std::fmt::Write;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

/// The size of a cell in pixels. An eighth of its height is a whole number.
pub(super) const WIDTH: u16 = 8;
pub(super) const HEIGHT: u16 = 16;
/// Of text in a cell.
const BASELINE: u16 = 12;

/// The part of a cell that a block character fills: its top and its height, in pixels.
fn block(symbol: &str) -> Option<(u16, u16)> {
    const BLOCKS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
    const EIGHTH: u16 = HEIGHT / 8;
    match symbol {
        "▔" => Some((0, EIGHTH)),
        "─" => Some((HEIGHT / 2 - EIGHTH / 2, EIGHTH)),
        _ => {
            let eighths = (1..).zip(BLOCKS).find(|(_, block)| *block == symbol)?.0;
            Some((HEIGHT - eighths * EIGHTH, eighths * EIGHTH))
        }
    }
}

/// The CSS classes of a cell; `svg.rs` defines them.
fn class(cell: &Cell) -> String {
    let colour = match cell.fg {
        Color::Green => "g",
        Color::Yellow => "y",
        Color::Red => "r",
        Color::Cyan => "c",
        Color::DarkGray => "d",
        _ if cell.modifier.contains(Modifier::DIM) => "d",
        _ => "",
    };
    let bold = if cell.modifier.contains(Modifier::BOLD) {
        " b"
    } else {
        ""
    };
    format!("{colour}{bold}").trim().to_owned()
}

/// Returns the elements of one row; an empty text for a row of spaces.
pub(super) fn row(buffer: &Buffer, y: u16) -> String {
    let mut elements = String::new();
    // The rectangles of each class are one path.
    let mut paths: BTreeMap<String, String> = BTreeMap::new();
    let mut x = 0;
    while let Some(cell) = buffer.cell((x, y)) {
        let rest = (x..buffer.area.right()).map_while(|x| buffer.cell((x, y)));
        let run: Vec<&Cell> = if let Some((top, height)) = block(cell.symbol()) {
            let run: Vec<&Cell> = rest
                .take_while(|next| next.symbol() == cell.symbol() && class(next) == class(cell))
                .collect();
            let (left, width) = (x * WIDTH, cells(&run) * WIDTH);
            let _ = write!(
                paths.entry(class(cell)).or_default(),
                "M{left} {top}h{width}v{height}h-{width}z"
            );
            run
        } else {
            let run: Vec<&Cell> = rest
                .take_while(|next| block(next.symbol()).is_none() && class(next) == class(cell))
                .collect();
            elements.push_str(&text(x, &class(cell), &run));
            run
        };
        x += cells(&run).max(1);
    }
    for (class, path) in paths {
        let _ = write!(elements, "<path class=\"{class}\" d=\"{path}\"/>");
    }
    elements
}

fn cells(run: &[&Cell]) -> u16 {
    u16::try_from(run.len()).unwrap_or(u16::MAX)
}

/// Words with one style. Wide gaps divide a run, so that each part starts at its own cell in any font.
fn text(x: u16, class: &str, run: &[&Cell]) -> String {
    let text: String = run.iter().map(|cell| cell.symbol()).collect();
    let class = match class {
        "" => String::new(),
        class => format!(" class=\"{class}\""),
    };
    let mut elements = String::new();
    let mut at = x;
    for part in text.split("  ") {
        let words = part.trim();
        let indent = count(part) - count(part.trim_start());
        if !words.is_empty() {
            let _ = write!(
                elements,
                "<text{class} x=\"{}\" y=\"{BASELINE}\" textLength=\"{}\">{}</text>",
                (at + indent) * WIDTH,
                count(words) * WIDTH,
                escape(words)
            );
        }
        at += count(part) + 2;
    }
    elements
}

fn count(text: &str) -> u16 {
    u16::try_from(text.chars().count()).unwrap_or(u16::MAX)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
