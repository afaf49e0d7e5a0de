//! Frames as one animated SVG. The frames stand side by side like those of a film, and CSS moves the film one frame at a time.
//! No library writes such a file from terminal cells.

use std::collections::BTreeMap;
use std::fmt::Write;

use ratatui::buffer::Buffer;

use super::cells;

/// Milliseconds that each second of the recording is shown.
const FRAME: usize = 250;
/// Milliseconds that the last frame stays before the film begins again.
const LAST: usize = 2_000;
/// Around the cells.
const MARGIN: u16 = 12;

/// Both palettes have a contrast of at least 4.5 to their background.
const STYLE: &str = "\
svg{--bg:#fff;--fg:#1f2328;--d:#59636e;--g:#1a7f37;--y:#9a6700;--r:#cf222e;--c:#0550ae}\
@media(prefers-color-scheme:dark){svg{--bg:#0d1117;--fg:#e6edf3;--d:#9198a1;--g:#3fb950;--y:#d29922;--r:#ff7b72;--c:#79c0ff}}\
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre;fill:var(--fg)}\
.d{fill:var(--d)}.g{fill:var(--g)}.y{fill:var(--y)}.r{fill:var(--r)}.c{fill:var(--c)}.b{font-weight:bold}\
.bg{fill:var(--bg);stroke:var(--d)}";

/// Returns the SVG of some frames of the same size.
pub(super) fn animation(frames: &[Buffer]) -> String {
    let area = frames.first().map(|frame| frame.area).unwrap_or_default();
    let (width, height) = (area.width * cells::WIDTH, area.height * cells::HEIGHT);
    let (outer_width, outer_height) = (width + 2 * MARGIN, height + 2 * MARGIN);
    // Most rows stay the same from one frame to the next, so each distinct row is written once.
    let mut rows: BTreeMap<String, usize> = BTreeMap::new();
    let mut film = String::new();
    for (index, frame) in frames.iter().enumerate() {
        let _ = write!(film, "<g transform=\"translate({})\">", index * usize::from(width));
        for y in 0..area.height {
            let row = cells::row(frame, y);
            if !row.is_empty() {
                let number = rows.len();
                let id = *rows.entry(row).or_insert(number);
                let _ = write!(film, "<use href=\"#r{id}\" y=\"{}\"/>", y * cells::HEIGHT);
            }
        }
        film.push_str("</g>\n");
    }
    let mut definitions = String::new();
    for (row, id) in &rows {
        let _ = writeln!(definitions, "<g id=\"r{id}\">{row}</g>");
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {outer_width} {outer_height}\" \
         width=\"{outer_width}\" height=\"{outer_height}\" role=\"img\">\n\
         <title>make run: two clients of a service that becomes full</title>\n\
         <style>{STYLE}{}</style>\n\
         <defs>\n{definitions}</defs>\n\
         <rect class=\"bg\" x=\".5\" y=\".5\" width=\"{}\" height=\"{}\" rx=\"6\"/>\n\
         <svg x=\"{MARGIN}\" y=\"{MARGIN}\" width=\"{width}\" height=\"{height}\" overflow=\"hidden\">\n\
         <g class=\"film\">\n{film}</g>\n</svg>\n</svg>\n",
        motion(frames.len(), width),
        outer_width - 1,
        outer_height - 1,
    )
}

/// Without motion, the last frame is shown: it has the sums.
fn motion(frames: usize, width: u16) -> String {
    let steps = frames.saturating_sub(1).max(1);
    let end = steps * usize::from(width);
    let time = steps * FRAME + LAST;
    let moving = steps * FRAME * 100 / time;
    format!(
        ".film{{transform:translateX(-{end}px)}}\
         @media(prefers-reduced-motion:no-preference){{.film{{animation:film {time}ms steps({steps}) infinite}}}}\
         @keyframes film{{0%{{transform:none}}{moving}%,to{{transform:translateX(-{end}px)}}}}"
    )
}
