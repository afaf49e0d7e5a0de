//! Values over time as columns of block characters, a column per second.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

/// From empty to full, in eighths.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Eighths of a row.
const EIGHTHS: u64 = 8;
const LINE: Color = Color::DarkGray;

/// The value of one second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) value: u64,
    /// A line at this value, which the column crosses only if it reaches it.
    pub(super) line: Option<u64>,
    /// The value at which the column is as high as the chart.
    pub(super) full: u64,
    pub(super) colour: Color,
}

/// Draws the newest columns, oldest first; `·` for a missing one.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, columns: impl ExactSizeIterator<Item = Option<Column>>) {
    let older = columns.len().saturating_sub(usize::from(area.width));
    for (x, column) in (area.x..area.right()).zip(columns.skip(older)) {
        // The lowest row first.
        for (row, y) in (0u64..).zip((area.y..area.bottom()).rev()) {
            let (symbol, colour) = match column {
                None if row == 0 => ('·', LINE),
                None => (' ', LINE),
                Some(column) => column.cell(row, u64::from(area.height)),
            };
            if let Some(cell) = buffer.cell_mut((x, y)) {
                cell.set_char(symbol).set_style(Style::new().fg(colour));
            }
        }
    }
}

impl Column {
    /// The character in a row, counted from the lowest, of a chart with this many rows.
    fn cell(&self, row: u64, rows: u64) -> (char, Color) {
        let eighths = |value: u64| (value * rows * EIGHTHS).checked_div(self.full.max(1)).unwrap_or(0);
        let line = self.line.filter(|line| self.value < *line).map(eighths);
        let line_row = line.map(|line| (line / EIGHTHS).min(rows.saturating_sub(1)));
        if let (Some(line), true) = (line, line_row == Some(row)) {
            return (line_symbol(line - row * EIGHTHS), LINE);
        }
        let filled = eighths(self.value).saturating_sub(row * EIGHTHS).min(EIGHTHS);
        // A value of 0 is drawn too, so that it differs from none.
        let filled = if row == 0 { filled.max(1) } else { filled };
        let block = usize::try_from(filled).ok().and_then(|filled| BLOCKS.get(filled));
        (block.copied().unwrap_or(' '), self.colour)
    }
}

/// A horizontal line at a height in a cell, in eighths.
fn line_symbol(eighths: u64) -> char {
    match eighths {
        0..=2 => '▁',
        3..=5 => '─',
        _ => '▔',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(value: u64) -> Option<Column> {
        Some(Column {
            value,
            line: Some(4),
            full: 5,
            colour: Color::Green,
        })
    }

    fn drawn(width: u16, height: u16, columns: &[Option<Column>]) -> Vec<String> {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        draw(&mut buffer, area, columns.iter().copied());
        let rows = buffer.content().chunks(usize::from(width));
        rows.map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect())
            .collect()
    }

    #[test]
    fn columns_cross_the_line_only_at_the_target_and_above() {
        let columns: Vec<_> = (0..=6).map(column).collect();
        assert_eq!(drawn(7, 2, &columns), ["────▄██", "▁▃▆████"]);
        assert_eq!(drawn(7, 3, &columns), ["────▃██", "  ▁▆███", "▁▄█████"]);
    }

    #[test]
    fn only_the_newest_columns_are_drawn_and_a_missing_one_is_a_dot() {
        let columns = [column(5), None, column(5)];
        assert_eq!(drawn(2, 2, &columns), [" █", "·█"]);
        assert_eq!(drawn(5, 1, &columns), ["█·█  "]);
    }

    #[test]
    fn each_column_has_the_colour_of_its_own_value() {
        let area = Rect::new(0, 0, 2, 1);
        let mut buffer = Buffer::empty(area);
        let red = Column {
            colour: Color::Red,
            ..column(5).unwrap()
        };
        draw(&mut buffer, area, [column(4), Some(red)].into_iter());
        let colours: Vec<_> = buffer.content().iter().map(|cell| cell.fg).collect();
        assert_eq!(colours, [Color::Green, Color::Red]);
    }
}
