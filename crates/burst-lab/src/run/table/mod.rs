//! The dashboard as a table, drawn as a pure function of the dashboard and the size of the terminal.

mod chart;
mod clients;
mod plan;
mod services;
#[cfg(test)]
mod tests;
mod wrap;

use std::net::SocketAddr;
use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Stylize;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::dashboard::{Audience, Dashboard};
use plan::{Needs, Plan};
use wrap::wrap;

/// A longer warning is cut off; Envoy's log has the whole text.
const MAX_WARNING_LINES: usize = 4;
/// Between the title, the clients, the services and the footer.
const BLANKS: u16 = 3;

const READ_ONLY: &str =
    "This run only reads your cluster, so there are no clients. `make run` without CONTEXT has them.";

/// The values that stay the same during a run.
pub(crate) struct Title {
    pub(crate) proxy: SocketAddr,
    pub(crate) workers: u16,
    /// The address of the Kubernetes API.
    pub(crate) api: String,
    /// Commands to try in another terminal.
    pub(crate) commands: Vec<String>,
}

pub(crate) fn draw(frame: &mut Frame<'_>, title: &Title, dashboard: &Dashboard) {
    let area = frame.area();
    let top = vec![headline(title, dashboard)];
    let commands = commands(title);
    let audience = audience(dashboard, area.width);
    let bottom = bottom(title, dashboard, area.width);
    let plan = Plan::new(
        area.height,
        Needs {
            fixed: height(&top) + audience.height() + 1 + height(&bottom),
            services: u16::try_from(dashboard.rows.len()).unwrap_or(u16::MAX),
            headers: services::header_lines(&dashboard.rows, area.width),
            commands: height(&commands),
            blanks: BLANKS,
        },
    );
    let blank = u16::from(plan.blanks);
    let mut rest = area;
    take_lines(frame, &mut rest, top);
    if plan.commands {
        take_lines(frame, &mut rest, commands);
    }
    skip(&mut rest, blank);
    let audience_height = audience.height();
    match (audience, &dashboard.audience) {
        (Section::Clients, Audience::Clients(clients)) => {
            let lines = Rect {
                height: audience_height.min(rest.height),
                ..rest
            };
            clients::draw(frame.buffer_mut(), lines, clients, &dashboard.rows);
            skip(&mut rest, audience_height);
        }
        (Section::Lines(lines), _) => take_lines(frame, &mut rest, lines),
        (Section::Clients, Audience::ReadOnly) => {}
    }
    skip(&mut rest, blank);
    // The footer keeps its place at the bottom.
    let footer = height(&bottom).min(rest.height);
    let middle = Rect {
        height: rest.height - footer,
        ..rest
    };
    if middle.height > 0 {
        services::draw(frame.buffer_mut(), middle, &dashboard.rows, plan);
    }
    let mut footer = Rect {
        y: middle.bottom(),
        height: footer,
        ..rest
    };
    take_lines(frame, &mut footer, bottom);
}

/// What stands between the title and the services.
enum Section {
    Clients,
    Lines(Vec<Line<'static>>),
}

impl Section {
    fn height(&self) -> u16 {
        match self {
            Section::Clients => clients::HEIGHT,
            Section::Lines(lines) => height(lines),
        }
    }
}

fn audience(dashboard: &Dashboard, width: u16) -> Section {
    match &dashboard.audience {
        Audience::Clients(_) => Section::Clients,
        Audience::ReadOnly => {
            let note = wrap(READ_ONLY, width).into_iter().map(|line| Line::from(line.dim()));
            let error = dashboard.error.iter().flat_map(|error| wrap(error, width));
            Section::Lines(note.chain(error.map(|line| Line::from(line.yellow()))).collect())
        }
    }
}

fn headline(title: &Title, dashboard: &Dashboard) -> Line<'static> {
    let elapsed = clock(dashboard.elapsed);
    let state = if dashboard.has_started() {
        let plural = if title.workers == 1 { "" } else { "s" };
        format!("{} worker{plural}, up {elapsed}", title.workers)
    } else {
        format!("starting: it compiles the filter, {elapsed}")
    };
    let about = format!("  Envoy on localhost:{}, {state}", title.proxy.port());
    Line::from(vec!["burst-lab".bold(), about.dim()])
}

fn commands(title: &Title) -> Vec<Line<'static>> {
    let lines = title
        .commands
        .iter()
        .map(|command| Line::from(format!("  {command}").cyan()));
    [Line::from("Try in another terminal:".dim())]
        .into_iter()
        .chain(lines)
        .collect()
}

/// The warning, and how to end the run.
fn bottom(title: &Title, dashboard: &Dashboard, width: u16) -> Vec<Line<'static>> {
    let warning = dashboard.warnings.newest().map(|(text, others)| match others {
        0 => format!("warning: {text}"),
        others => format!("warning ({others} more): {text}"),
    });
    let mut lines: Vec<_> = warning
        .iter()
        .flat_map(|warning| wrap(warning, width).into_iter().take(MAX_WARNING_LINES))
        .map(|line| Line::from(line.yellow()))
        .collect();
    let requests = format!("  Kubernetes API {}: {} requests", title.api, dashboard.api_requests);
    lines.push(Line::from(vec!["q".bold(), " quits".into(), requests.dim()]));
    lines
}

/// Draws lines at the top of an area, and takes them from it.
fn take_lines(frame: &mut Frame<'_>, area: &mut Rect, lines: Vec<Line<'static>>) {
    for line in lines {
        line.render(
            Rect {
                height: 1.min(area.height),
                ..*area
            },
            frame.buffer_mut(),
        );
        skip(area, 1);
    }
}

fn skip(area: &mut Rect, lines: u16) {
    let lines = lines.min(area.height);
    area.y += lines;
    area.height -= lines;
}

fn height(lines: &[Line<'_>]) -> u16 {
    u16::try_from(lines.len()).unwrap_or(u16::MAX)
}

fn clock(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}
