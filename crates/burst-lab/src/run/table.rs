//! The dashboard as a table, drawn as a pure function of the dashboard and the size of the terminal.

use std::net::SocketAddr;
use std::time::Duration;

use burst_printable::Printable;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Paragraph, Wrap};

use super::dashboard::{Dashboard, ProbeResult, Row};
use super::sparkline;

/// The columns for name and numbers, which are always shown.
const NAME_AND_NUMBERS: usize = 32;
const REQUESTS: usize = 17;
/// A shorter sparkline is not useful.
const MIN_SPARKLINE: usize = 8;
/// Two minutes, which is two periods of the slowest curves.
const MAX_SPARKLINE: usize = 120;

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
    let mut footer = footer(title, dashboard);
    footer.lines.iter_mut().for_each(printable);
    let footer_height = u16::try_from(footer.height()).unwrap_or(1);
    let [top, bottom] = Layout::vertical([Constraint::Min(0), Constraint::Length(footer_height)]).areas(frame.area());
    let width = usize::from(top.width);
    let mut lines = header(title, dashboard);
    for row in &dashboard.rows {
        lines.extend([status_line(row, width), result_line(row), Line::default()]);
    }
    lines.iter_mut().for_each(printable);
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), top);
    frame.render_widget(Paragraph::new(footer), bottom);
}

/// Replaces control and bidirectional characters in text from a cluster or from Envoy.
fn printable(line: &mut Line<'_>) {
    for span in &mut line.spans {
        span.content = Printable::whole(&span.content).to_string().into();
    }
}

fn header(title: &Title, dashboard: &Dashboard) -> Vec<Line<'static>> {
    let workers = if title.workers == 1 {
        "1 worker".to_owned()
    } else {
        format!("{} workers", title.workers)
    };
    let port = title.proxy.port();
    let about = format!(
        "  Envoy on localhost:{port}, {workers}, up {}",
        clock(dashboard.elapsed)
    );
    let mut lines = vec![
        Line::from(vec!["burst-lab".bold(), about.dim()]),
        Line::from("Try in another terminal:".dim()),
    ];
    lines.extend(
        title
            .commands
            .iter()
            .map(|command| Line::from(format!("  {command}").cyan())),
    );
    lines.push(Line::default());
    lines.extend(dashboard.error.iter().map(|error| Line::from(error.clone().yellow())));
    lines
}

/// Name, numbers, sparkline and requests. In a narrow terminal the requests are dropped first, then the sparkline.
fn status_line(row: &Row, width: usize) -> Line<'static> {
    let style = Style::new().fg(colour(row.load()));
    let numbers = row
        .load()
        .map_or_else(|| "-".to_owned(), |(current, max)| format!("{current} of {max}"));
    let mut spans = vec![
        format!("{:<22}", row.name).bold(),
        Span::styled(format!("{numbers:<10}"), style),
    ];
    let available = width.saturating_sub(NAME_AND_NUMBERS);
    let requests = row.requests.filter(|_| available >= MIN_SPARKLINE + REQUESTS);
    let sparkline_width = available
        .saturating_sub(requests.map_or(0, |_| REQUESTS))
        .min(MAX_SPARKLINE);
    if sparkline_width >= MIN_SPARKLINE {
        spans.push(Span::styled(
            format!(
                "{:<sparkline_width$}",
                sparkline::sparkline(row.load.iter().copied(), sparkline_width)
            ),
            style,
        ));
    }
    if let Some(requests) = requests {
        spans.push(format!("{requests:>8} requests").dim());
    }
    Line::from(spans)
}

fn result_line(row: &Row) -> Line<'static> {
    let summary = format!("  {}", row.summary());
    match &row.last {
        Some(ProbeResult::Ok(Some(_))) => Line::from(summary),
        None => Line::from(summary.dim()),
        Some(_) => Line::from(summary.yellow()),
    }
}

fn footer(title: &Title, dashboard: &Dashboard) -> Text<'static> {
    let requests = format!("  Kubernetes API {}: {} requests", title.api, dashboard.api_requests);
    let mut lines = vec![Line::from(vec!["q".bold(), " ends everything".into(), requests.dim()])];
    lines.extend(
        dashboard
            .warning
            .iter()
            .map(|warning| Line::from(warning.clone().yellow())),
    );
    Text::from(lines)
}

/// Green below 80 % of the maximum, yellow from there, red at the maximum.
fn colour(load: Option<(u32, u32)>) -> Color {
    match load {
        None => Color::DarkGray,
        Some((current, max)) if current >= max => Color::Red,
        Some((current, max)) if u64::from(current) * 5 >= u64::from(max) * 4 => Color::Yellow,
        Some(_) => Color::Green,
    }
}

fn clock(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;

    const HEADER: &str = "service=default/ngsa-1, current-load=4, target-load=4, max-load=5";

    fn title() -> Title {
        let commands = vec!["curl -i localhost:8080/burstmetrics/services/".to_owned()];
        Title {
            proxy: ([127, 0, 0, 1], 8080).into(),
            workers: 2,
            api: "127.0.0.1:8001".to_owned(),
            commands,
        }
    }

    fn dashboard() -> Dashboard {
        let mut dashboard = Dashboard::new(&burst_lab::sample::services(&burst_lab::sample::cluster().unwrap()));
        dashboard.record(0, ProbeResult::Ok(Some(HEADER.to_owned())));
        dashboard.record(1, ProbeResult::Status(503));
        (0..30).for_each(|_| dashboard.sample_load());
        dashboard.elapsed = Duration::from_secs(62);
        dashboard.warning = Some("[warning] something".to_owned());
        dashboard
    }

    fn drawn(width: u16, height: u16) -> Vec<String> {
        drawn_dashboard(width, height, &dashboard())
    }

    fn drawn_dashboard(width: u16, height: u16, dashboard: &Dashboard) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, &title(), dashboard)).unwrap();
        let cells = terminal.backend().buffer().content().chunks(usize::from(width.max(1)));
        cells
            .map(|row| {
                row.iter()
                    .map(ratatui::buffer::Cell::symbol)
                    .collect::<String>()
                    .trim_end()
                    .to_owned()
            })
            .collect()
    }

    #[test]
    fn eighty_columns_hold_a_whole_header_on_one_line() {
        let lines = drawn(80, 24);
        assert_eq!(lines[0], "burst-lab  Envoy on localhost:8080, 2 workers, up 1:02");
        assert_eq!(lines[2], "  curl -i localhost:8080/burstmetrics/services/");
        let blocks = "▆".repeat(30);
        assert_eq!(
            lines[4],
            format!("ngsa-svc-1.default    4 of 5    {blocks}        1 requests")
        );
        assert_eq!(lines[5], format!("  x-burst: {HEADER}"));
        assert_eq!(lines[8], "  status 503");
        assert_eq!(
            lines[22],
            "q ends everything  Kubernetes API 127.0.0.1:8001: 0 requests"
        );
        assert_eq!(lines[23], "[warning] something");
    }

    #[cfg(feature = "context")]
    #[test]
    fn a_cluster_is_drawn_without_requests_and_with_its_error() {
        let mut dashboard = Dashboard::new(&[]);
        dashboard.apply_snapshot([("default/ngsa-svc-1".to_owned(), HEADER.to_owned())].into());
        dashboard.sample_load();
        let lines = drawn_dashboard(80, 24, &dashboard);
        assert_eq!(lines[4], "default/ngsa-svc-1    4 of 5    ▆");
        assert_eq!(lines[5], format!("  x-burst: {HEADER}"));
        dashboard.record_error(&ProbeResult::Status(503), "too stale: 130 s\n");
        let lines = drawn_dashboard(80, 24, &dashboard);
        assert_eq!(
            (lines[4].as_str(), lines[5].as_str()),
            ("too stale: 130 s", "default/ngsa-svc-1    -         ▆")
        );
    }

    #[test]
    fn a_narrow_terminal_wraps_the_header_and_keeps_name_and_numbers() {
        let lines = drawn(40, 40);
        assert!(
            lines
                .iter()
                .any(|line| line.starts_with("ngsa-svc-1.default") && line.contains("4 of 5")),
            "{lines:#?}"
        );
        assert!(lines.concat().replace(' ', "").contains("max-load=5"), "{lines:#?}");
    }

    #[test]
    fn control_characters_of_a_cluster_are_escaped() {
        let mut dashboard = dashboard();
        dashboard.rows[0].name = "ngsa\u{202e}\n1".to_owned();
        dashboard.record(0, ProbeResult::Ok(Some("a\u{1b}[31m".to_owned())));
        dashboard.error = Some("old\u{2066}\u{85}".to_owned());
        dashboard.warning = Some("[warning]\u{1b}]0;a\u{7}".to_owned());
        let lines = drawn_dashboard(80, 24, &dashboard);
        assert_eq!(lines[4], "old\u{fffd}\u{fffd}");
        assert!(lines[5].starts_with("ngsa\u{fffd}␊1  "), "{lines:#?}");
        assert_eq!(
            (lines[6].as_str(), lines[23].as_str()),
            ("  x-burst: a␛[31m", "[warning]␛]0;a␇")
        );
    }

    #[test]
    fn no_size_is_too_small_to_draw() {
        for (width, height) in [(1, 1), (3, 2), (10, 5), (25, 3), (300, 4), (80, 1)] {
            drawn(width, height);
        }
    }

    #[test]
    fn colours_follow_the_remaining_replicas() {
        let cases = [
            ((1, 5), Color::Green),
            ((4, 5), Color::Yellow),
            ((5, 5), Color::Red),
            ((7, 5), Color::Red),
        ];
        for (load, wanted) in cases {
            assert_eq!(colour(Some(load)), wanted, "{load:?}");
        }
    }
}
