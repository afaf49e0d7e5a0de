//! Runs h2load: <https://nghttp2.org/documentation/h2load.1.html>

use std::{fs, net::SocketAddr, process::Command, time::Duration};

/// Connections.
const CLIENTS: u32 = 16;

/// Seconds of measurement, after a second of warm-up.
const SECONDS: u32 = 3;

/// In thousandths.
const PERCENTILES: [usize; 3] = [500, 990, 999];

/// The rate of requests.
#[derive(Clone, Copy)]
pub(crate) enum Rate {
    /// Requests a second on each connection.
    Fixed { per_connection: u32 },
    /// The next request follows each answer.
    Full,
}

/// The result of a slice.
pub(crate) struct Measured {
    pub(crate) per_second: u64,
    /// p50, p99 and p99.9.
    pub(crate) percentiles: [Duration; 3],
}

pub(crate) fn run(proxy: SocketAddr, rate: Rate) -> Measured {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let log = folder.path().join("log");
    let mut command = Command::new("h2load");
    command
        .args(["--h1", "--threads=1", "--warm-up-time=1"])
        .arg(format!("--clients={CLIENTS}"))
        .arg(format!("--duration={SECONDS}"))
        .arg(format!("--log-file={}", log.display()));
    if let Rate::Fixed { per_connection } = rate {
        command.arg(format!("--rps={per_connection}"));
    }
    let output = (command.arg(format!("http://{proxy}/")).output())
        .unwrap_or_else(|error| panic!("h2load: {error}: run setup/h2load"));
    assert!(output.status.success(), "{output:?}");
    parse_log(&fs::read_to_string(log).expect("the log"))
}

/// Parses the log: a line for each request, with its start, its status, and its duration in microseconds.
fn parse_log(log: &str) -> Measured {
    let requests = log.lines().map(|line| {
        let numbers: Vec<i64> = line.split('\t').filter_map(|number| number.parse().ok()).collect();
        match numbers[..] {
            [_, 200, time] => Duration::from_micros(time.unsigned_abs()),
            _ => panic!("not an answer: {line}"),
        }
    });
    let mut times: Vec<_> = requests.collect();
    times.sort_unstable();
    Measured {
        per_second: times.len() as u64 / u64::from(SECONDS),
        percentiles: PERCENTILES.map(|thousandths| times[times.len() * thousandths / 1_000]),
    }
}
