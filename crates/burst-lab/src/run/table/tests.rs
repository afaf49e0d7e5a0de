//! The table at three sizes, and its parts.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::Color;

use super::*;
use crate::run::envoy::FilterLine;
use crate::run::header::Load;
use crate::run::traffic::{ClientKind, Outcome};

const FORBIDDEN: &str = "cannot list horizontalpodautoscalers.autoscaling: 403 Forbidden: no; give the proxy's \
                         ServiceAccount a ClusterRole with the verb list on horizontalpodautoscalers.autoscaling";

fn title() -> Title {
    let commands = [
        "curl -i -H 'host: ngsa-svc-1.default.svc.cluster.local' localhost:8080/",
        "curl -i localhost:8080/burstmetrics/services/",
    ];
    Title {
        proxy: ([127, 0, 0, 1], 8080).into(),
        workers: 2,
        api: "127.0.0.1:8001".to_owned(),
        commands: commands.map(str::to_owned).into(),
    }
}

fn header(service: &str, load: (u32, u32, u32)) -> String {
    let (current, target, max) = load;
    format!("service={service}, current-load={current}, target-load={target}, max-load={max}")
}

fn answered(status: u16, header: String) -> Outcome {
    Outcome::Answered {
        status,
        header: Some(header),
    }
}

/// Thirty seconds in which the first service becomes full.
fn dashboard() -> Dashboard {
    let mut dashboard = Dashboard::of_services(&burst_lab::sample::services(&burst_lab::sample::cluster().unwrap()));
    for second in 0..30u32 {
        let home = header("default/ngsa-1", (1 + second / 6, 4, 5));
        let elsewhere = header("ngsa/ngsa-2", (1 + second / 10, 4, 6));
        dashboard.record(0, &answered(200, home.clone()));
        dashboard.record(1, &answered(200, elsewhere.clone()));
        dashboard.record(2, &answered(200, header("data/queue", (9, 7, 9))));
        dashboard.record(3, &answered(200, header("shop/checkout", (7, 10, 13))));
        let Audience::Clients(clients) = &mut dashboard.audience else {
            panic!("no clients")
        };
        for request in 0..1 + second / 5 {
            let status = if second > 24 && request > 3 { 503 } else { 200 };
            clients.record(ClientKind::IgnoresHeader, 0, &answered(status, home.clone()));
            let (service, header) = if request % 4 < second / 8 {
                (1, &elsewhere)
            } else {
                (0, &home)
            };
            clients.record(ClientKind::ReadsHeader, service, &answered(200, header.clone()));
        }
        dashboard.end_second();
    }
    dashboard.elapsed = Duration::from_secs(62);
    dashboard.api_requests = 12;
    dashboard
}

fn buffer(width: u16, height: u16, dashboard: &Dashboard) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, &title(), dashboard)).unwrap();
    terminal.backend().buffer().clone()
}

fn drawn(width: u16, height: u16, dashboard: &Dashboard) -> String {
    let buffer = buffer(width, height, dashboard);
    let rows = buffer.content().chunks(usize::from(width.max(1)));
    let lines = rows.map(|row| {
        let line: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn warn(dashboard: &mut Dashboard, text: &str) {
    dashboard.warnings.apply(&FilterLine::Warning(text), dashboard.elapsed);
}

#[test]
fn the_table_fits_60_columns_and_15_lines() {
    insta::assert_snapshot!("60x15", drawn(60, 15, &dashboard()));
}

#[test]
fn the_table_fits_80_columns_and_24_lines() {
    insta::assert_snapshot!("80x24", drawn(80, 24, &dashboard()));
}

#[test]
fn the_table_uses_200_columns_and_50_lines() {
    insta::assert_snapshot!("200x50", drawn(200, 50, &dashboard()));
}

#[test]
fn a_warning_is_wrapped_and_disappears_when_the_state_is_good_again() {
    let mut dashboard = dashboard();
    let before = drawn(80, 24, &dashboard);
    warn(&mut dashboard, FORBIDDEN);
    insta::assert_snapshot!("warning", drawn(80, 24, &dashboard));
    let recovery = FilterLine::Recovery {
        text: "listing horizontalpodautoscalers.autoscaling works again",
        ends: "cannot list horizontalpodautoscalers.autoscaling".to_owned(),
    };
    dashboard.warnings.apply(&recovery, dashboard.elapsed);
    assert_eq!(drawn(80, 24, &dashboard), before);
}

#[test]
fn until_the_first_answer_the_table_says_what_envoy_does() {
    let mut dashboard = Dashboard::of_services(&burst_lab::sample::services(&burst_lab::sample::cluster().unwrap()));
    dashboard.end_second();
    dashboard.elapsed = Duration::from_secs(3);
    insta::assert_snapshot!("starting", drawn(80, 24, &dashboard));
}

#[cfg(feature = "context")]
#[test]
fn a_cluster_is_drawn_without_clients_and_with_its_error() {
    let mut dashboard = Dashboard::of_cluster();
    let load = header("default/ngsa-1", (4, 4, 5));
    let snapshot = [
        ("default/ngsa-svc-1".to_owned(), load.clone()),
        ("shop/web".to_owned(), load),
    ];
    dashboard.apply_snapshot(snapshot.into());
    dashboard.end_second();
    insta::assert_snapshot!("cluster", drawn(80, 24, &dashboard));
    dashboard.record_error(503, "the snapshot is 130 s old\n");
    let lines = drawn(80, 24, &dashboard);
    assert!(lines.contains("\nthe snapshot is 130 s old\n"), "{lines}");
    assert!(lines.contains("\ndefault/ngsa-svc-1  -         -"), "{lines}");
}

#[cfg(feature = "context")]
#[test]
fn services_that_do_not_fit_are_counted() {
    let mut dashboard = Dashboard::of_cluster();
    let load = header("a/b", (4, 4, 5));
    dashboard.apply_snapshot((0..30).map(|n| (format!("shop/web-{n:02}"), load.clone())).collect());
    let lines = drawn(80, 24, &dashboard);
    assert!(
        lines.contains("shop/web-08") && !lines.contains("shop/web-09"),
        "{lines}"
    );
    assert!(
        lines.contains("and 21 more: make the terminal higher to see them"),
        "{lines}"
    );
}

#[test]
fn control_characters_of_a_cluster_are_escaped() {
    let mut dashboard = dashboard();
    dashboard.rows[0].name = "ngsa\u{202e}\n1".to_owned();
    dashboard.record(0, &answered(200, "a\u{1b}[31m".to_owned()));
    warn(&mut dashboard, "a\u{1b}]0;b\u{7}");
    let lines = drawn(80, 24, &dashboard);
    for text in ["\nngsa\u{fffd}␊1  ", "\n  x-burst: a␛[31m\n", "\nwarning: a␛]0;b␇\n"] {
        assert!(lines.contains(text), "{text:?}: {lines}");
    }
    assert!(!lines.contains(|c: char| c.is_control() && c != '\n'), "{lines:?}");
}

#[test]
fn no_size_is_too_small_to_draw() {
    let mut dashboard = dashboard();
    warn(&mut dashboard, FORBIDDEN);
    for (width, height) in [(1, 1), (3, 2), (10, 5), (25, 3), (40, 40), (300, 4), (80, 1)] {
        drawn(width, height, &dashboard);
    }
}

#[test]
fn each_moment_of_the_history_has_the_colour_of_its_value() {
    let buffer = buffer(80, 24, &dashboard());
    let lines = drawn(80, 24, &dashboard());
    let line = |begin: &str| u16::try_from(lines.lines().position(|line| line.starts_with(begin)).unwrap()).unwrap();
    let colours = |x: u16, y: u16| buffer.cell((x, y)).unwrap().fg;
    // The second line of the service, which has the lower row of the chart; six seconds for each replica.
    let y = line("ngsa-svc-1.default") + 1;
    let seconds = [0, 12, 17, 18, 23, 24, 29].map(|second| colours(40 + second, y));
    let wanted = [
        Color::Green,
        Color::Green,
        Color::Green,
        Color::Yellow,
        Color::Yellow,
        Color::Red,
        Color::Red,
    ];
    assert_eq!(seconds, wanted);
    let newest = |begin: &str| colours(79, line(begin));
    assert_eq!(
        [newest("ignores x-burst"), newest("reads x-burst")],
        [Color::Red, Color::Green]
    );
}

#[test]
fn colours_follow_the_target_and_the_maximum() {
    let cases = [
        ((3, 4, 5), Color::Green),
        ((4, 4, 5), Color::Yellow),
        ((5, 4, 5), Color::Red),
        ((7, 4, 5), Color::Red),
    ];
    for ((current, target, max), wanted) in cases {
        assert_eq!(
            services::colour(Some(Load { current, target, max })),
            wanted,
            "{current} of {max}"
        );
    }
    assert_eq!(services::colour(None), Color::DarkGray);
}
