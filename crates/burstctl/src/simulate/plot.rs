//! A plot as text, for terminals and for files.

use clap::builder::styling::{AnsiColor, Style};

use super::axes::{Axes, time_labels};
use super::timeline::{Span, Timeline};
use crate::duration::format_seconds;

/// The most rows. Each row is a number of replicas, or a share of one.
const ROWS: usize = 14;
/// The columns left of the axis: `max 5000 `.
const MARGIN: usize = 9;
/// The least width at which a plot can be read.
const LEAST_WIDTH: usize = 30;

/// A line in parts, each with a style.
pub(super) type StyledLine = Vec<(Style, String)>;

/// What a cell shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    /// A part of the load that is served.
    Served,
    /// A part of the load that no ready pod serves.
    Unserved,
    /// The same, and the load goes on above the plot.
    Above,
    /// Ready pods that the load does not need.
    Spare,
    /// Ready pods at a time at which the load is unknown.
    Unknown,
    /// minReplicas or maxReplicas.
    Limit,
    Empty,
}

impl Cell {
    fn symbol(self) -> char {
        match self {
            Self::Served => '▒',
            Self::Unserved => '█',
            Self::Above => '▲',
            Self::Spare => '░',
            Self::Unknown => '·',
            Self::Limit => '─',
            Self::Empty => ' ',
        }
    }

    /// The style says nothing that the symbol does not say, so that a plot without colours is complete.
    fn style(self) -> Style {
        let colour = match self {
            Self::Served => AnsiColor::Green,
            Self::Unserved | Self::Above => AnsiColor::Red,
            Self::Spare | Self::Unknown => AnsiColor::Cyan,
            Self::Limit | Self::Empty => return Style::new(),
        };
        colour.on_default()
    }
}

/// Returns a plot of at most `width` columns: the load as replicas that it needs, and the pods that were ready.
#[must_use]
pub fn plot(timeline: &Timeline, min: i32, max: i32, width: usize) -> Vec<StyledLine> {
    let axes = Axes::of(timeline, min, max);
    let columns = stretched(timeline, width.max(LEAST_WIDTH) - MARGIN - 1);
    let top = usize::try_from(axes.top).unwrap_or(usize::MAX);
    let rows = if top > ROWS { ROWS } else { ROWS / top * top };
    let grid = Grid { axes, rows };
    let mut lines = vec![text("replicas".to_owned())];
    lines.extend((1..=rows).rev().map(|row| grid.line(row, &columns)));
    lines.extend(time_axis(timeline.range(), columns.len()));
    lines.extend(legend(&grid, &columns, width.max(LEAST_WIDTH)));
    let longest = columns.iter().map(Span::seconds).max().unwrap_or(0);
    if longest >= 60 {
        lines.push(text(format!("  each column: worst of {}", format_seconds(longest))));
    }
    lines
}

/// Returns a span for each column; few are repeated to fill the width.
fn stretched(timeline: &Timeline, width: usize) -> Vec<Span> {
    let spans = timeline.columns(width);
    let count = spans.len().max(1);
    (0..if spans.is_empty() { 0 } else { width })
        .filter_map(|column| spans.get(column * count / width).copied())
        .collect()
}

fn text(text: String) -> StyledLine {
    vec![(Style::new(), text)]
}

struct Grid {
    axes: Axes,
    rows: usize,
}

impl Grid {
    /// The highest row that a number of replicas reaches; only 0 reaches none.
    fn row(&self, replicas: i32) -> usize {
        let of = |number: i32| usize::try_from(number).unwrap_or(0);
        (of(replicas) * self.rows).div_ceil(of(self.axes.top).max(1))
    }

    fn line(&self, row: usize, columns: &[Span]) -> StyledLine {
        let label = self.label(row);
        let axis = if label.is_empty() { '│' } else { '┤' };
        let mut line = text(format!("{label:>MARGIN$}{axis}"));
        let cells: Vec<Cell> = columns.iter().map(|span| self.cell(row, span)).collect();
        let used = cells
            .iter()
            .rposition(|cell| *cell != Cell::Empty)
            .map_or(0, |last| last + 1);
        for group in cells.get(..used).unwrap_or(&[]).chunk_by(PartialEq::eq) {
            let style = group.first().map_or_else(Style::new, |cell| cell.style());
            line.push((style, group.iter().map(|cell| cell.symbol()).collect()));
        }
        line
    }

    fn cell(&self, row: usize, span: &Span) -> Cell {
        let ready = self.row(span.ready);
        let needed = self.row(span.demand.map_or(0, |demand| demand.replicas));
        // A shortage that is smaller than a row still shows.
        let served = if span.missing() > 0 {
            ready.min(needed.min(self.rows) - 1)
        } else {
            needed
        };
        match row {
            _ if row <= served => Cell::Served,
            _ if needed > self.rows && row == self.rows => Cell::Above,
            _ if row <= needed => Cell::Unserved,
            _ if row <= ready && span.demand.is_none() => Cell::Unknown,
            _ if row <= ready => Cell::Spare,
            _ if row == self.row(self.axes.min) || row == self.row(self.axes.max) => Cell::Limit,
            _ => Cell::Empty,
        }
    }

    /// The label of a row, with a space behind it, or nothing.
    fn label(&self, row: usize) -> String {
        let Axes { min, max, .. } = self.axes;
        if row == self.row(max) {
            return format!("max {max} ");
        }
        if row == self.row(min) {
            return format!("min {min} ");
        }
        let labels = self.axes.replica_labels(5);
        let label = labels.into_iter().find(|replicas| self.row(*replicas) == row);
        label.map_or_else(String::new, |replicas| format!("{replicas} "))
    }
}

/// The axis of the time and its labels.
fn time_axis((start, end): (u32, u32), width: usize) -> [StyledLine; 2] {
    let length = u64::from(end.saturating_sub(start)).max(1);
    let columns = u64::try_from(width).unwrap_or(0);
    let (mut axis, mut labels) = (vec!['─'; width + 1], String::new());
    for second in time_labels((start, end), u32::try_from(width / 9).unwrap_or(u32::MAX)) {
        let column = usize::try_from(u64::from(second - start) * columns / length).unwrap_or(width);
        let label = format_seconds(second);
        if column + label.len() > width + 1 || column < labels.len() {
            continue;
        }
        if let Some(tick) = axis.get_mut(column) {
            *tick = if column == 0 { '┼' } else { '┬' };
        }
        labels = format!("{labels:<column$}{label} ");
    }
    let axis: String = axis.into_iter().collect();
    [
        text(format!("{:>width$}{axis}", "0 ", width = MARGIN)),
        text(format!("{:MARGIN$}{}", "", labels.trim_end())),
    ]
}

/// What the symbols mean, on lines of the width.
fn legend(grid: &Grid, columns: &[Span], width: usize) -> Vec<StyledLine> {
    let cells: Vec<Cell> = (1..=grid.rows)
        .flat_map(|row| columns.iter().map(move |span| grid.cell(row, span)))
        .collect();
    let entries = [
        (Cell::Served, "load served"),
        (Cell::Spare, "ready, not needed"),
        (Cell::Unserved, "load not served"),
        (Cell::Above, "more above the plot"),
        (Cell::Unknown, "ready, load unknown"),
        (Cell::Limit, "minReplicas, maxReplicas"),
    ];
    let mut lines: Vec<StyledLine> = Vec::new();
    let mut used = width;
    for (cell, meaning) in entries.into_iter().filter(|(cell, _)| cells.contains(cell)) {
        let length = "  ▒ ".chars().count() + meaning.len();
        if used + length > width {
            lines.push(Vec::new());
            used = 0;
        }
        used += length;
        if let Some(line) = lines.last_mut() {
            line.push((Style::new(), "  ".to_owned()));
            line.push((cell.style(), cell.symbol().to_string()));
            line.push((Style::new(), format!(" {meaning}")));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::timeline::tests::timeline;
    use super::*;

    fn lines(timeline: &Timeline, width: usize) -> Vec<String> {
        let line = |parts: StyledLine| parts.into_iter().map(|(_, text)| text).collect();
        plot(timeline, 2, 6, width).into_iter().map(line).collect()
    }

    #[test]
    fn a_column_shows_what_is_served_what_is_not_and_what_is_spare() {
        let timeline = timeline(&[(10, Some(2), 2, 2), (10, Some(5), 2, 5), (10, Some(3), 5, 5)]);
        assert_eq!(
            lines(&timeline, 40),
            [
                "replicas",
                "   max 6 ┤──────────────────────────────",
                "         │",
                "         │          ██████████░░░░░░░░░░",
                "         │          ██████████░░░░░░░░░░",
                "       4 ┤          ██████████░░░░░░░░░░",
                "         │          ██████████░░░░░░░░░░",
                "         │          ██████████▒▒▒▒▒▒▒▒▒▒",
                "         │          ██████████▒▒▒▒▒▒▒▒▒▒",
                "   min 2 ┤▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒",
                "         │▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒",
                "         │▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒",
                "         │▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒",
                "       0 ┼──────────────┬───────────────",
                "         0s             15s",
                "  ▒ load served  ░ ready, not needed",
                "  █ load not served",
                "  ─ minReplicas, maxReplicas",
            ]
        );
    }

    #[test]
    fn a_shortage_shows_however_small_or_large_it_is() {
        // One pod of 1,000 is less than a row.
        let small = plot(&timeline(&[(60, Some(1000), 999, 999)]), 1, 1000, 80);
        let red = |line: &StyledLine| {
            line.iter()
                .any(|(style, text)| *style == Cell::Unserved.style() && text.contains('█'))
        };
        assert_eq!(small.iter().filter(|line| red(line)).count(), 2, "a row and the legend");
        let large = lines(&timeline(&[(60, Some(1000), 3, 3)]), 80);
        assert!(
            large[1].contains("▲▲▲") && large.join("\n").contains("▲ more above the plot"),
            "{large:#?}"
        );
    }

    #[test]
    fn a_time_without_a_load_is_not_a_time_without_need() {
        let shown = lines(&timeline(&[(60, Some(2), 2, 2), (60, None, 2, 2)]), 40);
        let last = "   min 2 ┤▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒···············";
        assert!(shown.contains(&last.to_owned()), "{shown:#?}");
        assert!(
            shown.iter().any(|line| line.ends_with("  · ready, load unknown")),
            "{shown:#?}"
        );
    }

    #[test]
    fn every_width_is_kept() {
        let timeline = timeline(&[(3600, Some(2), 2, 2), (10, Some(500), 2, 5), (9000, Some(3), 5, 5)]);
        for width in [30, 40, 60, 80, 100] {
            let shown = lines(&timeline, width);
            let longest = shown.iter().map(|line| line.chars().count()).max().unwrap();
            assert!(longest <= width && longest + 12 > width, "{width}: {longest}");
        }
        assert!(!lines(&Timeline::default(), 0).is_empty());
    }
}
