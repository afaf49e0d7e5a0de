//! `burst-lab run`: the lab or a cluster, Envoy in front of it, traffic through it, and a dashboard of the responses.

mod backend;
mod clients;
mod dashboard;
mod envoy;
mod header;
mod lines;
mod output;
mod ports;
mod recording;
mod screen;
#[cfg(feature = "context")]
mod snapshot_client;
mod table;
mod traffic;
mod warnings;

use std::error::Error;
use std::io;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, interval_at};

use crate::args::Run;
use crate::signals::Signals;
use crate::stderr::print_line;
use backend::Backend;
use dashboard::{Audience, Dashboard};
use envoy::{Envoy, EnvoyError, FilterLine};
use output::Output;
use recording::{Progress, RecordingError};
use table::Title;
use traffic::{ClientKind, Outcome};

/// Short enough for a clock, and long enough for a slow terminal.
const FRAME: Duration = Duration::from_millis(250);
const SECOND: Duration = Duration::from_secs(1);
/// The time between two lines of a client, where there is no table.
const CLIENT_LINES: Duration = Duration::from_secs(10);

/// Seconds of history: more than any terminal is wide.
const HISTORY: usize = 240;

/// An update of the dashboard.
enum Update {
    /// The outcome of a request.
    Answer {
        /// The index of the service.
        service: usize,
        /// `None` for other traffic.
        client: Option<ClientKind>,
        outcome: Outcome,
    },
    /// A snapshot of all services, or why there is none.
    #[cfg(feature = "context")]
    SnapshotResult(snapshot_client::SnapshotResult),
}

/// A running `burst-lab run`.
struct Session {
    backend: Backend,
    dashboard: Dashboard,
    title: Title,
    output: Output,
    started: Instant,
    updates: mpsc::UnboundedReceiver<Update>,
}

pub(crate) async fn run(options: Run, signals: Signals) -> Result<(), Box<dyn Error>> {
    ports::check(&options)?;
    let backend = Backend::start(&options).await?;
    let mut envoy = Envoy::start(&options, backend.ports(&options))?;
    let (send, updates) = mpsc::unbounded_channel();
    let (dashboard, traffic) = backend.start_traffic(options.proxy, &send);
    let title = title(&options, &backend);
    let output = Output::open(&options, &title)?;
    let mut session = Session {
        backend,
        dashboard,
        title,
        output,
        started: Instant::now(),
        updates,
    };
    let end = session.run_until_end(&mut envoy, signals, options.limit).await;
    drop(traffic);
    let finished = session.finish();
    envoy.stop().await;
    end.or_else(ignore_closed_pipe)?;
    Ok(finished?)
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
        let mut client_lines = interval_at(tokio::time::Instant::now() + CLIENT_LINES, CLIENT_LINES);
        let time_is_up = time_limit(limit);
        tokio::pin!(time_is_up);
        loop {
            tokio::select! {
                _ = frames.tick() => self.draw()?,
                _ = seconds.tick() => {
                    if self.end_second()? == Progress::Complete {
                        return Ok(());
                    }
                }
                _ = client_lines.tick() => self.write_clients()?,
                Some(updates) = self.updates.recv() => self.apply(updates)?,
                line = envoy.next_log_line() => self.record_log_line(&line?),
                () = self.output.quit() => return Ok(()),
                () = signals.shutdown_requested() => return Ok(()),
                () = &mut time_is_up => return Ok(()),
            }
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        self.dashboard.elapsed = self.started.elapsed();
        self.dashboard.api_requests = self.backend.api_requests();
        self.output.draw(&self.title, &self.dashboard)
    }

    fn end_second(&mut self) -> io::Result<Progress> {
        self.dashboard.elapsed = self.started.elapsed();
        self.dashboard.end_second();
        self.output.record(&self.title, &self.dashboard)
    }

    fn write_clients(&self) -> io::Result<()> {
        match &self.dashboard.audience {
            Audience::Clients(clients) if self.output.is_lines() => {
                let mut rows = clients.rows().into_iter();
                rows.try_for_each(|client| lines::write_client(&mut io::stdout(), self.started.elapsed(), client))
            }
            Audience::Clients(_) | Audience::ReadOnly => Ok(()),
        }
    }

    fn apply(&mut self, updates: Update) -> io::Result<()> {
        match updates {
            Update::Answer {
                service,
                client,
                outcome,
            } => self.record(service, client, &outcome),
            #[cfg(feature = "context")]
            Update::SnapshotResult(snapshot_client::SnapshotResult::Services(services)) => {
                let changed = self.dashboard.apply_snapshot(services);
                let rows = self.dashboard.rows.iter().filter(|row| changed.contains(&row.name));
                let mut rows = rows.filter(|_| self.output.is_lines());
                rows.try_for_each(|row| lines::write_change(&mut io::stdout(), self.started.elapsed(), row))
            }
            #[cfg(feature = "context")]
            Update::SnapshotResult(snapshot_client::SnapshotResult::Unavailable(status, reason)) => {
                if self.dashboard.record_error(status, &reason) && self.output.is_lines() {
                    print_line(format_args!("{status}: {reason}"));
                }
                Ok(())
            }
        }
    }

    fn record(&mut self, service: usize, client: Option<ClientKind>, outcome: &Outcome) -> io::Result<()> {
        if let (Some(client), Audience::Clients(clients)) = (client, &mut self.dashboard.audience) {
            clients.record(client, service, outcome);
        }
        let changed = self.dashboard.record(service, outcome);
        match self.dashboard.rows.get(service) {
            Some(row) if changed && self.output.is_lines() => {
                lines::write_change(&mut io::stdout(), self.started.elapsed(), row)
            }
            _ => Ok(()),
        }
    }

    /// Shows the warnings of the filter. Those of Envoy itself are only in its log.
    fn record_log_line(&mut self, line: &str) {
        let Some(parsed) = envoy::parse_log_line(line) else {
            return;
        };
        self.dashboard.warnings.apply(&parsed, self.started.elapsed());
        if self.output.is_lines() {
            match parsed {
                FilterLine::Warning(text) => print_line(format_args!("warning: {text}")),
                FilterLine::Recovery { text, .. } => print_line(text),
            }
        }
    }

    /// Restores the terminal or writes the recording, and then writes a summary.
    fn finish(self) -> Result<(), RecordingError> {
        self.output.close()?;
        let seconds = self.started.elapsed().as_secs_f64();
        match (&self.backend, &self.dashboard.audience) {
            (Backend::Sample(_), Audience::Clients(clients)) => {
                print_line(format_args!("in {seconds:.0} s:"));
                clients
                    .rows()
                    .iter()
                    .for_each(|client| print_line(format_args!("  {}", client.summary())));
            }
            (Backend::Sample(_), Audience::ReadOnly) => {}
            #[cfg(feature = "context")]
            (Backend::Cluster(_), _) => {
                let (lists, api) = (self.backend.api_requests(), &self.title.api);
                print_line(format_args!("{lists} lists of {api} in {seconds:.0} s"));
            }
        }
        Ok(())
    }
}

async fn time_limit(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
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
