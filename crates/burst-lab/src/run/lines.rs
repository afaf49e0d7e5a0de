//! The dashboard as plain lines for a pipe or CI: one line for each change, without escape codes.

use std::io::{self, Write};
use std::time::Duration;

use burst_printable::Printable;

use super::dashboard::Row;

/// `   12.3s  ngsa-svc-1.default  x-burst: …`
pub(crate) fn write_change(out: &mut impl Write, elapsed: Duration, row: &Row) -> io::Result<()> {
    let line = format!("{:>7.1}s  {:<20}  {}", elapsed.as_secs_f64(), row.name, row.summary());
    writeln!(out, "{}", Printable::new(line))?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::dashboard::{Dashboard, ProbeResult};

    #[test]
    fn control_characters_in_a_line_are_escaped() {
        let mut dashboard = Dashboard::new(&burst_lab::sample::services(&burst_lab::sample::cluster().unwrap()));
        dashboard.rows[0].name = "ngsa\n\u{202e}1".to_owned();
        dashboard.record(0, ProbeResult::Ok(Some("a\u{1b}[31m=\u{7}b".to_owned())));
        let mut out = Vec::new();
        write_change(&mut out, Duration::from_millis(12_340), &dashboard.rows[0]).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "   12.3s  ngsa␊\u{fffd}1               x-burst: a␛[31m=␇b\n"
        );
    }
}
