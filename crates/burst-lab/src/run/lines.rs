//! The dashboard as plain lines for a pipe or CI: one line for each change, without escape codes.

use std::io::{self, Write};
use std::time::Duration;

use burst_printable::Printable;

use super::clients::ClientRow;
use super::dashboard::Row;

/// `   12.3s  ngsa-svc-1.default  x-burst: …`
pub(crate) fn write_change(out: &mut impl Write, elapsed: Duration, row: &Row) -> io::Result<()> {
    write_line(out, elapsed, &format!("{:<20}  {}", row.name, row.summary()))
}

/// `   10.0s  ignores x-burst: 42 requests, 7 of them 503`
pub(crate) fn write_client(out: &mut impl Write, elapsed: Duration, client: &ClientRow) -> io::Result<()> {
    write_line(out, elapsed, &client.summary())
}

fn write_line(out: &mut impl Write, elapsed: Duration, text: &str) -> io::Result<()> {
    let line = format!("{:>7.1}s  {text}", elapsed.as_secs_f64());
    writeln!(out, "{}", Printable::new(line))?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::clients::Clients;
    use crate::run::dashboard::Dashboard;
    use crate::run::traffic::Outcome;

    #[test]
    fn control_characters_in_a_line_are_escaped() {
        let services = burst_lab::sample::services(&burst_lab::sample::cluster().unwrap());
        let mut dashboard = Dashboard::of_services(&services);
        dashboard.rows[0].name = "ngsa\n\u{202e}1".to_owned();
        let header = Some("a\u{1b}[31m=\u{7}b".to_owned());
        dashboard.record(0, &Outcome::Answered { status: 200, header });
        let mut out = Vec::new();
        write_change(&mut out, Duration::from_millis(12_340), &dashboard.rows[0]).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "   12.3s  ngsa␊\u{fffd}1               x-burst: a␛[31m=␇b\n"
        );
    }

    #[test]
    fn the_line_of_a_client_has_its_requests_and_503s() {
        let mut out = Vec::new();
        write_client(&mut out, Duration::from_secs(10), &Clients::default().ignores_header).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "   10.0s  ignores x-burst: 0 requests, 0 of them 503\n"
        );
    }
}
