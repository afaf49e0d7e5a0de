//! The board as plain lines, for a pipe or CI: one when a service answers something new. No escape codes.

use std::io::{self, Write};
use std::time::Duration;

use super::board::Row;

/// `   12.3s  ngsa-svc-1.default  x-burst: …`
pub(crate) fn changed(out: &mut impl Write, elapsed: Duration, row: &Row) -> io::Result<()> {
    let says: String = row.says().chars().filter(|c| !c.is_control()).collect();
    writeln!(out, "{:>7.1}s  {:<20}  {says}", elapsed.as_secs_f64(), row.name)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::board::{Board, Seen};

    #[test]
    fn a_line_has_no_control_character_but_its_end() {
        let mut board = Board::new(&burst_lab::sample::services(&burst_lab::sample::cluster().unwrap()));
        board.note(0, Seen::Normal(Some("a\u{1b}[31m=\u{7}b".to_owned())));
        let mut out = Vec::new();
        changed(&mut out, Duration::from_millis(12_340), &board.rows[0]).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "   12.3s  ngsa-svc-1.default    x-burst: a[31m=b\n"
        );
    }
}
