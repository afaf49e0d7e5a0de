//! The services: name, replicas, headroom and history of each.

use burst_printable::Printable;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::chart::{self, Column};
use super::plan::Plan;
use super::wrap::wrap;
use crate::run::dashboard::{Row, ServiceState};
use crate::run::header::{Load, LoadState};

const REPLICAS: u16 = 10;
const HEADROOM: u16 = 10;
/// A narrower chart is not useful.
const MIN_CHART: u16 = 8;
/// Two minutes, which is two periods of the slowest curves.
const MAX_CHART: u16 = 120;

/// Green below the target, yellow from there, red at the maximum.
pub(super) fn colour(load: Option<Load>) -> Color {
    match load.map(Load::state) {
        None => Color::DarkGray,
        Some(LoadState::HasRoom) => Color::Green,
        Some(LoadState::AtTarget) => Color::Yellow,
        Some(LoadState::Full) => Color::Red,
    }
}

/// The lines of the headers of all services.
pub(super) fn header_lines(rows: &[Row], width: u16) -> u16 {
    let lines = rows.iter().map(|row| header(row, width).len()).sum::<usize>();
    u16::try_from(lines).unwrap_or(u16::MAX)
}

fn header(row: &Row, width: u16) -> Vec<String> {
    wrap(&row.summary(), width.saturating_sub(2))
}

/// Draws the column heads and the services that fit. Returns the lines that were used.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, rows: &[Row], plan: Plan) -> u16 {
    let columns = Columns::new(rows, area.width);
    columns.head().render(
        Rect {
            height: 1.min(area.height),
            ..area
        },
        buffer,
    );
    let mut y = area.y + 1;
    for row in rows.iter().take(usize::from(plan.services)) {
        let rest = Rect {
            y,
            height: area.bottom().saturating_sub(y),
            ..area
        };
        y += draw_row(buffer, rest, row, plan, &columns);
    }
    let hidden = rows.len().saturating_sub(usize::from(plan.services));
    if hidden > 0 && y < area.bottom() {
        let line = Line::from(format!("and {hidden} more: make the terminal higher to see them").dim());
        line.render(Rect { y, height: 1, ..area }, buffer);
        y += 1;
    }
    y - area.y
}

fn draw_row(buffer: &mut Buffer, area: Rect, row: &Row, plan: Plan, columns: &Columns) -> u16 {
    let line = |y: u16| Rect {
        y: area.y + y,
        height: 1.min(area.height.saturating_sub(y)),
        ..area
    };
    columns.numbers(row).render(line(0), buffer);
    columns.second_line(row, plan).render(line(1), buffer);
    if let Some(width) = columns.chart {
        let x = area.x + columns.left();
        let height = plan.chart_rows.min(area.height);
        chart::draw(
            buffer,
            Rect {
                x,
                width,
                height,
                ..area
            },
            row.history.iter().map(|load| load.map(column)),
        );
    }
    if !plan.headers {
        return plan.chart_rows;
    }
    let header = header(row, area.width);
    for (text, y) in header.iter().zip(plan.chart_rows..) {
        Line::styled(format!("  {text}"), style(&row.state)).render(line(y), buffer);
    }
    plan.chart_rows + u16::try_from(header.len()).unwrap_or(0)
}

fn style(state: &ServiceState) -> Style {
    match state {
        ServiceState::Header(_) => Style::new(),
        ServiceState::Unknown => Style::new().dim(),
        ServiceState::NoHeader(_) | ServiceState::NoResponse => Style::new().fg(Color::Yellow),
    }
}

fn column(load: Load) -> Column {
    Column {
        value: load.current.into(),
        line: Some(load.target.into()),
        full: load.max.into(),
        colour: colour(Some(load)),
    }
}

/// The widths of the columns.
struct Columns {
    name: u16,
    /// `None` if it does not fit.
    chart: Option<u16>,
}

impl Columns {
    fn new(rows: &[Row], width: u16) -> Self {
        let longest = rows.iter().map(|row| Span::raw(row.name.as_str()).width()).max();
        let longest = u16::try_from(longest.unwrap_or(0)).unwrap_or(u16::MAX);
        let name = longest.clamp(18, (width / 3).max(18)) + 2;
        let chart = width.saturating_sub(name + REPLICAS + HEADROOM).min(MAX_CHART);
        Columns {
            name,
            chart: (chart >= MIN_CHART).then_some(chart),
        }
    }

    fn left(&self) -> u16 {
        self.name + REPLICAS + HEADROOM
    }

    fn head(&self) -> Line<'static> {
        let (name, replicas, headroom) = self.widths();
        let history = if self.chart.is_some() {
            "HISTORY, ─ TARGET"
        } else {
            ""
        };
        Line::from(
            format!(
                "{:<name$}{:<replicas$}{:<headroom$}{history}",
                "SERVICE", "REPLICAS", "HEADROOM"
            )
            .dim(),
        )
    }

    fn numbers(&self, row: &Row) -> Line<'static> {
        let (name, replicas, headroom) = self.widths();
        let load = row.load();
        let text = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let of_max = text(load.map(|load| format!("{} of {}", load.current, load.max)));
        let free = text(load.map(|load| load.headroom().to_string()));
        let shown = Printable::whole(&row.name).to_string();
        let shown: String = shown.chars().take(name - 1).collect();
        let style = Style::new().fg(colour(load));
        Line::from(vec![
            format!("{shown:<name$}").bold(),
            Span::styled(format!("{of_max:<replicas$}"), style),
            Span::styled(format!("{free:<headroom$}"), style),
        ])
    }

    /// The target. Without one, why there is none, if no other line says so.
    fn second_line(&self, row: &Row, plan: Plan) -> Line<'static> {
        let left = usize::from(self.left()) - 2;
        match row.load() {
            Some(load) => Line::from(format!("  target {}", load.target).dim()),
            None if plan.headers => Line::default(),
            None => {
                let summary = Printable::whole(&row.summary()).to_string();
                Line::styled(format!("  {summary:.left$}"), style(&row.state))
            }
        }
    }

    fn widths(&self) -> (usize, usize, usize) {
        (self.name.into(), REPLICAS.into(), HEADROOM.into())
    }
}
