//! <https://nghttp2.org/documentation/h2load.1.html>

use std::{fs, net::SocketAddr, process::Command, time::Duration};

/// Connections.
const CLIENTS: u32 = 16;

/// Seconds that count, after one that does not.
const SECONDS: u32 = 3;

/// The places of the percentiles, in thousandths.
const PERCENTILES: [usize; 3] = [500, 990, 999];

/// How fast it asks.
#[derive(Clone, Copy)]
pub(crate) enum Pace {
    /// So many requests a second on each connection.
    Steady { each: u32 },
    /// The next one with each answer.
    Full,
}

/// What a slice of it showed.
pub(crate) struct Found {
    pub(crate) per_second: u64,
    /// p50, p99 and p99.9.
    pub(crate) percentiles: [Duration; 3],
}

pub(crate) fn run(proxy: SocketAddr, pace: Pace) -> Found {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let log = folder.path().join("log");
    let mut command = Command::new("h2load");
    command
        .args(["--h1", "--threads=1", "--warm-up-time=1"])
        .arg(format!("--clients={CLIENTS}"))
        .arg(format!("--duration={SECONDS}"))
        .arg(format!("--log-file={}", log.display()));
    if let Pace::Steady { each } = pace {
        command.arg(format!("--rps={each}"));
    }
    let output = command.arg(format!("http://{proxy}/")).output();
    let output = output.unwrap_or_else(|error| panic!("h2load: {error}: run setup/h2load"));
    assert!(output.status.success(), "{output:?}");
    of(&fs::read_to_string(log).expect("the log"))
}

/// A line for each request: when it began, its status, and what it took, in microseconds.
fn of(log: &str) -> Found {
    let requests = log.lines().map(|line| {
        let numbers: Vec<i64> = line.split('\t').filter_map(|number| number.parse().ok()).collect();
        match numbers[..] {
            [_, 200, time] => Duration::from_micros(time.unsigned_abs()),
            _ => panic!("not an answer: {line}"),
        }
    });
    let mut times: Vec<_> = requests.collect();
    times.sort_unstable();
    Found {
        per_second: times.len() as u64 / u64::from(SECONDS),
        percentiles: PERCENTILES.map(|place| times[times.len() * place / 1_000]),
    }
}
