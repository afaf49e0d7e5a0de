//! `burst-lab run`: the lab or a cluster, Envoy in front of it, traffic through it, and a dashboard of the responses.

mod backend;
mod dashboard;
mod envoy;
mod lines;
mod screen;
#[cfg(feature = "context")]
mod snapshot_client;
mod sparkline;
mod table;
mod traffic;

use std::error::Error;
use std::io::{self, IsTerminal};
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use crate::args::Run;
use crate::signals::Signals;
use crate::stderr::print_line;
use backend::Backend;
use dashboard::{Dashboard, ProbeResult};
use envoy::{Envoy, EnvoyError};
use screen::Screen;
use table::Title;

/// Short enough for a clock, and long enough for a slow terminal.
const FRAME: Duration = Duration::from_millis(250);
const SECOND: Duration = Duration::from_secs(1);

/// Another process listens on Envoy's address.
#[derive(Debug, thiserror::Error)]
#[error("{addr} is in use ({source}); `ss -ltnp 'sport = :{}'` shows the process", addr.port())]
struct AddressInUse {
    addr: SocketAddr,
    source: io::Error,
}

/// An update of the dashboard.
enum Update {
    /// The result of a request to the service at this index.
    Answer(usize, ProbeResult),
    /// A snapshot of all services, or why there is none.
    #[cfg(feature = "context")]
    SnapshotResult(snapshot_client::SnapshotResult),
}

/// A running `burst-lab run`.
struct Session {
    backend: Backend,
    dashboard: Dashboard,
    title: Title,
    screen: Option<Screen>,
    started: Instant,
    updates: mpsc::UnboundedReceiver<Update>,
}

pub(crate) async fn run(options: Run, signals: Signals) -> Result<(), Box<dyn Error>> {
    let mut backend = Backend::start(&options).await?;
    check_is_free(options.proxy)?;
    let mut envoy = Envoy::start(&options)?;
    let (send, updates) = mpsc::unbounded_channel();
    let (dashboard, traffic) = backend.start_traffic(options.proxy, &send);
    let title = title(&options, &backend);
    let screen = if use_plain_lines(&options) {
        print_introduction(&title)
    } else {
        Some(Screen::open()?)
    };
    let mut session = Session {
        backend,
        dashboard,
        title,
        screen,
        started: Instant::now(),
        updates,
    };
    let end = session.run_until_end(&mut envoy, signals, options.limit).await;
    drop(traffic);
    session.finish();
    envoy.stop().await;
    end.or_else(ignore_closed_pipe)
}

/// Returns the last log lines of an Envoy that exited, if that is the error.
pub(crate) fn last_lines<'a>(error: &'a (dyn Error + 'static)) -> &'a [String] {
    match error.downcast_ref() {
        Some(EnvoyError::Exited { lines, .. }) => lines,
        _ => &[],
    }
}

/// A closed pipe, such as `| head`, is a normal end.
fn ignore_closed_pipe(error: Box<dyn Error>) -> Result<(), Box<dyn Error>> {
    match error.downcast_ref::<io::Error>() {
        Some(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(error),
    }
}

impl Session {
    /// Runs until a signal, a key or the time limit ends it, or something fails.
    async fn run_until_end(
        &mut self,
        envoy: &mut Envoy,
        mut signals: Signals,
        limit: Option<Duration>,
    ) -> Result<(), Box<dyn Error>> {
        let mut frames = interval(FRAME);
        frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut seconds = interval(SECOND);
        let time_is_up = time_limit(limit);
        tokio::pin!(time_is_up);
        loop {
            tokio::select! {
                _ = frames.tick() => self.draw()?,
                _ = seconds.tick() => self.dashboard.sample_load(),
                Some(updates) = self.updates.recv() => self.apply(updates)?,
                line = envoy.next_log_line() => self.record_log_line(&line?),
                () = quit(&mut self.screen) => return Ok(()),
                () = signals.shutdown_requested() => return Ok(()),
                () = &mut time_is_up => return Ok(()),
            }
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        self.dashboard.elapsed = self.started.elapsed();
        self.dashboard.api_requests = self.backend.api_requests();
        self.screen
            .as_mut()
            .map_or(Ok(()), |screen| screen.draw(&self.title, &self.dashboard))
    }

    fn apply(&mut self, updates: Update) -> io::Result<()> {
        match updates {
            Update::Answer(row, result) => self.record(row, result),
            #[cfg(feature = "context")]
            Update::SnapshotResult(snapshot_client::SnapshotResult::Services(services)) => {
                let changed = self.dashboard.apply_snapshot(services);
                let rows = self.dashboard.rows.iter().filter(|row| changed.contains(&row.name));
                let mut rows = rows.filter(|_| self.screen.is_none());
                rows.try_for_each(|row| lines::write_change(&mut io::stdout(), self.started.elapsed(), row))
            }
            #[cfg(feature = "context")]
            Update::SnapshotResult(snapshot_client::SnapshotResult::Unavailable(status, reason)) => {
                if self.dashboard.record_error(&ProbeResult::Status(status), &reason) && self.screen.is_none() {
                    print_line(format_args!("{status}: {reason}"));
                }
                Ok(())
            }
        }
    }

    fn record(&mut self, row: usize, result: ProbeResult) -> io::Result<()> {
        let changed = self.dashboard.record(row, result);
        match self.dashboard.rows.get(row) {
            Some(row) if changed && self.screen.is_none() => {
                lines::write_change(&mut io::stdout(), self.started.elapsed(), row)
            }
            _ => Ok(()),
        }
    }

    fn record_log_line(&mut self, line: &str) {
        if !["[warning]", "[error]", "[critical]"]
            .iter()
            .any(|level| line.contains(level))
        {
            return;
        }
        if self.screen.is_none() {
            print_line(format_args!("envoy: {line}"));
        }
        self.dashboard.warning = Some(line.to_owned());
    }

    /// Restores the terminal, then writes a summary.
    fn finish(&mut self) {
        self.screen = None;
        let seconds = self.started.elapsed().as_secs_f64();
        let requests = self.dashboard.requests();
        match self.backend {
            Backend::Sample(_) => print_line(format_args!("{requests} requests in {seconds:.0} s")),
            #[cfg(feature = "context")]
            Backend::Cluster(_) => {
                let (lists, api) = (self.backend.api_requests(), &self.title.api);
                print_line(format_args!("{lists} lists of {api} in {seconds:.0} s"));
            }
        }
    }
}

async fn time_limit(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

async fn quit(screen: &mut Option<Screen>) {
    match screen {
        Some(screen) => screen.quit().await,
        None => std::future::pending().await,
    }
}

fn use_plain_lines(options: &Run) -> bool {
    options.plain || !io::stdout().is_terminal() || !io::stdin().is_terminal()
}

/// Checks the port before Envoy does, because Envoy reports it only in the middle of its log.
fn check_is_free(addr: SocketAddr) -> Result<(), AddressInUse> {
    TcpListener::bind(addr)
        .map(drop)
        .map_err(|source| AddressInUse { addr, source })
}

fn title(options: &Run, backend: &Backend) -> Title {
    let port = options.proxy.port();
    let service = backend.host();
    let service = service.map(|host| format!("curl -i -H 'host: {host}' localhost:{port}/"));
    let all = format!("curl -i localhost:{port}/burstmetrics/services/");
    Title {
        proxy: options.proxy,
        workers: options.concurrency,
        api: backend.api(),
        commands: service.into_iter().chain([all]).collect(),
    }
}

fn print_introduction(title: &Title) -> Option<Screen> {
    print_line(format_args!(
        "Envoy on localhost:{}, the Kubernetes API on {}; try:",
        title.proxy.port(),
        title.api
    ));
    title
        .commands
        .iter()
        .for_each(|command| print_line(format_args!("  {command}")));
    None
}
