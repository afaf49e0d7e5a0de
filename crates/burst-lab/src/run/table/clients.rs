//! The two clients, side by side: requests, 503s, and the headroom that the header tells them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::chart::{self, Column};
use super::services::colour;
use crate::run::clients::{ClientRow, Clients, Second};
use crate::run::dashboard::Row;
use crate::run::header::Load;

const NAME: u16 = 17;
const REQUESTS: u16 = 10;
const REFUSED: u16 = 6;
const HEADROOM: u16 = 10;
const DESTINATION: u16 = 26;
/// A narrower chart is not useful.
const MIN_CHART: u16 = 8;

/// Requests per second at which a bar is as high as the chart, until there were more.
const MIN_SCALE: u64 = 8;

/// The lines that this takes.
pub(super) const HEIGHT: u16 = 3;

/// Draws the column heads and both clients.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, clients: &Clients, services: &[Row]) {
    let columns = Columns::new(area.width);
    let line = |y: u16| Rect {
        y: area.y + y,
        height: 1.min(area.height.saturating_sub(y)),
        ..area
    };
    columns.head().render(line(0), buffer);
    // Both charts have the same scale.
    let rows = clients.rows();
    let requests = rows
        .iter()
        .flat_map(|client| client.history.iter().map(|second| second.requests));
    let scale = requests.max().unwrap_or(0).max(MIN_SCALE);
    for (client, y) in rows.into_iter().zip(1..) {
        columns.client(client, services).render(line(y), buffer);
        if let Some(width) = columns.chart {
            let x = area.x + columns.left();
            let seconds = client.history.iter().map(|second| column(*second, scale));
            chart::draw(buffer, Rect { x, width, ..line(y) }, seconds);
        }
    }
}

/// Red if any request of the second was refused.
fn column(second: Second, scale: u64) -> Option<Column> {
    (second.requests > 0).then(|| Column {
        value: second.requests,
        line: None,
        full: scale,
        colour: refused_colour(second.refused),
    })
}

fn refused_colour(refused: u64) -> Color {
    match refused {
        0 => Color::Green,
        _ => Color::Red,
    }
}

/// The columns that fit.
struct Columns {
    destination: Option<u16>,
    chart: Option<u16>,
}

impl Columns {
    fn new(width: u16) -> Self {
        let numbers = NAME + REQUESTS + REFUSED + HEADROOM;
        let left = width.saturating_sub(numbers);
        let destination = (left >= DESTINATION + MIN_CHART).then_some(DESTINATION);
        let chart = left - destination.unwrap_or(0);
        Columns {
            destination,
            chart: (chart >= MIN_CHART).then_some(chart),
        }
    }

    fn left(&self) -> u16 {
        NAME + REQUESTS + REFUSED + HEADROOM + self.destination.unwrap_or(0)
    }

    fn head(&self) -> Line<'static> {
        let chart = if self.chart.is_some() { "HISTORY" } else { "" };
        let destination = self.cell("SENDS TO");
        let text = format!(
            "{}{}{}{}{destination}{chart}",
            cell("CLIENT", NAME),
            cell("REQUESTS", REQUESTS),
            cell("503S", REFUSED),
            cell("HEADROOM", HEADROOM),
        );
        Line::from(text.dim())
    }

    fn client(&self, client: &ClientRow, services: &[Row]) -> Line<'static> {
        let headroom = client
            .load
            .map_or_else(|| "-".to_owned(), |load: Load| load.headroom().to_string());
        Line::from(vec![
            cell(client.name, NAME).bold(),
            cell(&client.requests.to_string(), REQUESTS).into(),
            Span::styled(
                cell(&client.refused.to_string(), REFUSED),
                Style::new().fg(refused_colour(client.refused)).bold(),
            ),
            Span::styled(cell(&headroom, HEADROOM), Style::new().fg(colour(client.load))),
            self.cell(&destination(client, services)).into(),
        ])
    }

    /// The text in the column of the destination, if that fits.
    fn cell(&self, text: &str) -> String {
        self.destination.map_or_else(String::new, |width| cell(text, width))
    }
}

fn cell(text: &str, width: u16) -> String {
    format!("{text:<width$}", width = usize::from(width))
}

/// `ngsa-svc-1.default`, or `ngsa-svc-2.ngsa, 75 %` if it sends to the other one too.
fn destination(client: &ClientRow, services: &[Row]) -> String {
    let service = client
        .destination
        .and_then(|(service, share)| Some((&services.get(service)?.name, share)));
    match service {
        Some((name, 100)) => name.clone(),
        Some((name, share)) => format!("{name}, {share} %"),
        None => "-".to_owned(),
    }
}
