//! The plot of `hpa simulate` on terminals and elsewhere.

use std::process::Command;

use crate::support::screen::Screen;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/load.yaml");
const ARGS: [&str; 7] = ["hpa", "simulate", FILE, "--load", "spike:5x", "--output", "plot"];
const COLOURS: [(&str, &str); 1] = [("TERM", "xterm-256color")];

/// Returns the lines above the answer.
fn plot_lines(shown: &str) -> Vec<&str> {
    shown.lines().take_while(|line| !line.is_empty()).collect()
}

fn longest(shown: &str) -> usize {
    let widths = plot_lines(shown).into_iter().map(|line| line.chars().count());
    widths.max().unwrap()
}

#[test]
fn a_plot_fills_the_terminal_up_to_100_columns_and_80_without_one() {
    let on = |columns: u16| Screen::of_width(columns).run(&ARGS, &[("NO_COLOR", "1")]);
    for (columns, expected, time) in [(20, 30, "15m"), (40, 40, "10m"), (80, 80, "5m"), (200, 100, "5m")] {
        let shown = on(columns);
        assert_eq!(longest(&shown), expected, "{columns} columns\n{shown}");
        for part in ["replicas", "max 12 ┤", "min 2 ┤", "0s ", time, "█ load not served"] {
            assert!(shown.contains(part), "{part:?} on {columns} columns\n{shown}");
        }
    }
    let output = Command::new(env!("CARGO_BIN_EXE_burstctl"))
        .args(ARGS)
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        on(80),
        "a pipe is as wide as a usual terminal"
    );
}

#[test]
fn the_load_that_is_not_served_is_red_and_only_on_terminals() {
    let screen = Screen::of_width(80);
    let coloured = screen.run(&ARGS, &COLOURS);
    assert!(coloured.contains("\u{1b}[31m█"), "{coloured}");
    let plain = screen.run(&ARGS, &[COLOURS[0], ("NO_COLOR", "1")]);
    assert!(!plain.contains('\u{1b}'), "{plain}");
    assert!(plot_lines(&plain).iter().any(|line| line.contains('█')), "{plain}");
}
