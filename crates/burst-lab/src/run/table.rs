//! The board as a table for people. A pure function of the board and the room there is.

use std::net::SocketAddr;
use std::time::Duration;

use burst_printable::Printable;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Paragraph, Wrap};

use super::board::{Board, Row, Seen};
use super::spark;

/// Name and numbers are always shown.
const NAME_AND_NUMBERS: usize = 32;
const REQUESTS: usize = 17;
/// A shorter sparkline shows nothing.
const LEAST_SPARK: usize = 8;
/// Two minutes, two of the slowest curves.
const WIDEST_SPARK: usize = 120;

/// What does not change while it runs.
pub(crate) struct Title {
    pub(crate) proxy: SocketAddr,
    pub(crate) workers: u16,
    /// The Kubernetes API, as people know it.
    pub(crate) api: String,
    /// Commands for another terminal.
    pub(crate) commands: Vec<String>,
}

pub(crate) fn draw(frame: &mut Frame<'_>, title: &Title, board: &Board) {
    let mut foot = foot(title, board);
    foot.lines.iter_mut().for_each(printable);
    let foot_height = u16::try_from(foot.height()).unwrap_or(1);
    let [top, bottom] = Layout::vertical([Constraint::Min(0), Constraint::Length(foot_height)]).areas(frame.area());
    let width = usize::from(top.width);
    let mut lines = head(title, board);
    for row in &board.rows {
        lines.extend([first(row, width), second(row), Line::default()]);
    }
    lines.iter_mut().for_each(printable);
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), top);
    frame.render_widget(Paragraph::new(foot), bottom);
}

/// What a cluster or Envoy says is shown, and moves no cursor and turns no text around.
fn printable(line: &mut Line<'_>) {
    for span in &mut line.spans {
        span.content = Printable::whole(&span.content).to_string().into();
    }
}

fn head(title: &Title, board: &Board) -> Vec<Line<'static>> {
    let workers = if title.workers == 1 {
        "1 worker".to_owned()
    } else {
        format!("{} workers", title.workers)
    };
    let port = title.proxy.port();
    let about = format!("  Envoy on localhost:{port}, {workers}, up {}", clock(board.elapsed));
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
    lines.extend(board.trouble.iter().map(|trouble| Line::from(trouble.clone().yellow())));
    lines
}

/// Name, numbers, sparkline, requests; where there is no room the requests go first, then the sparkline.
fn first(row: &Row, width: usize) -> Line<'static> {
    let style = Style::new().fg(colour(row.load()));
    let numbers = row
        .load()
        .map_or_else(|| "-".to_owned(), |(current, max)| format!("{current} of {max}"));
    let mut spans = vec![
        format!("{:<22}", row.name).bold(),
        Span::styled(format!("{numbers:<10}"), style),
    ];
    let room = width.saturating_sub(NAME_AND_NUMBERS);
    let requests = row.requests.filter(|_| room >= LEAST_SPARK + REQUESTS);
    let spark = room.saturating_sub(requests.map_or(0, |_| REQUESTS)).min(WIDEST_SPARK);
    if spark >= LEAST_SPARK {
        spans.push(Span::styled(
            format!("{:<spark$}", spark::line(row.load.iter().copied(), spark)),
            style,
        ));
    }
    if let Some(requests) = requests {
        spans.push(format!("{requests:>8} requests").dim());
    }
    Line::from(spans)
}

fn second(row: &Row) -> Line<'static> {
    let says = format!("  {}", row.says());
    match &row.seen {
        Some(Seen::Normal(Some(_))) => Line::from(says),
        None => Line::from(says.dim()),
        Some(_) => Line::from(says.yellow()),
    }
}

fn foot(title: &Title, board: &Board) -> Text<'static> {
    let requests = format!("  Kubernetes API {}: {} requests", title.api, board.api_requests);
    let mut lines = vec![Line::from(vec!["q".bold(), " ends everything".into(), requests.dim()])];
    lines.extend(board.warning.iter().map(|warning| Line::from(warning.clone().yellow())));
    Text::from(lines)
}

/// Green has room, yellow is above the usual target of 80 %, red is full.
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

    fn board() -> Board {
        let mut board = Board::new(&burst_lab::sample::services(&burst_lab::sample::cluster().unwrap()));
        board.note(0, Seen::Normal(Some(HEADER.to_owned())));
        board.note(1, Seen::Failure(503));
        (0..30).for_each(|_| board.remember());
        board.elapsed = Duration::from_secs(62);
        board.warning = Some("[warning] something".to_owned());
        board
    }

    fn drawn(width: u16, height: u16) -> Vec<String> {
        drawn_board(width, height, &board())
    }

    fn drawn_board(width: u16, height: u16, board: &Board) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, &title(), board)).unwrap();
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
    fn a_cluster_is_drawn_without_requests_and_with_what_is_wrong() {
        let mut board = Board::new(&[]);
        board.show([("default/ngsa-svc-1".to_owned(), HEADER.to_owned())].into());
        board.remember();
        let lines = drawn_board(80, 24, &board);
        assert_eq!(lines[4], "default/ngsa-svc-1    4 of 5    ▆");
        assert_eq!(lines[5], format!("  x-burst: {HEADER}"));
        board.cannot_show(&Seen::Failure(503), "too stale: 130 s\n");
        let lines = drawn_board(80, 24, &board);
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
    fn what_a_cluster_says_is_drawn_and_not_obeyed() {
        let mut board = board();
        board.rows[0].name = "ngsa\u{202e}\n1".to_owned();
        board.note(0, Seen::Normal(Some("a\u{1b}[31m".to_owned())));
        board.trouble = Some("old\u{2066}\u{85}".to_owned());
        board.warning = Some("[warning]\u{1b}]0;a\u{7}".to_owned());
        let lines = drawn_board(80, 24, &board);
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
    fn colours_follow_the_room_that_is_left() {
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
