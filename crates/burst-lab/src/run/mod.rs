//! `burst-lab run`: the lab, Envoy in front of it, traffic through it, and a view of what comes back.

mod board;
mod envoy;
mod lines;
mod screen;
mod spark;
mod table;
mod traffic;

use std::error::Error;
use std::io::{self, IsTerminal};
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use burst_lab::lab::Lab;
use burst_lab::sample::{self, Service};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use crate::args::Run;
use crate::signals::Signals;
use crate::words::say;
use board::{Board, Seen};
use envoy::Envoy;
use screen::Screen;
use table::Title;

/// Often enough for a clock, seldom enough for a slow terminal.
const FRAME: Duration = Duration::from_millis(250);
const SECOND: Duration = Duration::from_secs(1);

/// Something else listens where Envoy would.
#[derive(Debug, thiserror::Error)]
#[error("{addr} is taken ({source}); end what listens there: `ss -ltnp 'sport = :{}'` names it", addr.port())]
struct Taken {
    addr: SocketAddr,
    source: io::Error,
}

/// Everything at work.
struct Show {
    lab: Lab,
    board: Board,
    title: Title,
    view: Option<Screen>,
    started: Instant,
    answers: mpsc::UnboundedReceiver<(usize, Seen)>,
}

pub(crate) async fn run(options: Run, signals: Signals) -> Result<(), Box<dyn Error>> {
    let mut lab = Lab::start(sample::cluster()?, options.lab.api, options.lab.services).await?;
    free(options.proxy)?;
    let mut envoy = Envoy::start(&options)?;
    let load = lab.move_load();
    let services = sample::services(&lab.api.cluster);
    let (send, answers) = mpsc::unbounded_channel();
    let traffic = traffic::start(&services, options.proxy, &load, &send);
    let title = title(&options, &services, lab.api_addr());
    let board = Board::new(services);
    let view = if plain(&options) {
        introduce(&title)
    } else {
        Some(Screen::take()?)
    };
    let mut show = Show {
        lab,
        board,
        title,
        view,
        started: Instant::now(),
        answers,
    };
    let end = show.go_on(&mut envoy, signals, options.limit).await;
    drop(traffic);
    show.close();
    envoy.end().await;
    end.or_else(reader_left)
}

/// Whoever read the lines has seen enough.
fn reader_left(error: Box<dyn Error>) -> Result<(), Box<dyn Error>> {
    match error.downcast_ref::<io::Error>() {
        Some(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(error),
    }
}

impl Show {
    /// Until someone asks it to end, its time is over, or something fails.
    async fn go_on(
        &mut self,
        envoy: &mut Envoy,
        mut signals: Signals,
        limit: Option<Duration>,
    ) -> Result<(), Box<dyn Error>> {
        let mut frames = interval(FRAME);
        frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut seconds = interval(SECOND);
        let over = over(limit);
        tokio::pin!(over);
        loop {
            tokio::select! {
                _ = frames.tick() => self.draw()?,
                _ = seconds.tick() => self.board.remember(),
                Some((row, seen)) = self.answers.recv() => self.note(row, seen)?,
                line = envoy.next() => self.heard(&line?),
                () = quit(&mut self.view) => return Ok(()),
                () = signals.asked_to_end() => return Ok(()),
                () = &mut over => return Ok(()),
            }
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        self.board.elapsed = self.started.elapsed();
        self.board.api_requests = self.lab.api.requests.counts().total;
        self.view
            .as_mut()
            .map_or(Ok(()), |screen| screen.draw(&self.title, &self.board))
    }

    fn note(&mut self, row: usize, seen: Seen) -> io::Result<()> {
        // Before Envoy listens there is nothing to tell.
        let waiting = seen == Seen::Nothing && self.board.requests() == 0;
        let changed = !waiting && self.board.note(row, seen);
        match self.board.rows.get(row) {
            Some(row) if changed && self.view.is_none() => {
                lines::changed(&mut io::stdout(), self.started.elapsed(), row)
            }
            _ => Ok(()),
        }
    }

    fn heard(&mut self, line: &str) {
        if !["[warning]", "[error]", "[critical]"]
            .iter()
            .any(|level| line.contains(level))
        {
            return;
        }
        if self.view.is_none() {
            say(&format!("envoy: {line}"));
        }
        self.board.warning = Some(line.chars().filter(|c| !c.is_control()).collect());
    }

    /// Gives the terminal back, then says how it was.
    fn close(&mut self) {
        self.view = None;
        say(&format!(
            "{} requests in {:.0} s",
            self.board.requests(),
            self.started.elapsed().as_secs_f64()
        ));
    }
}

async fn over(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

async fn quit(view: &mut Option<Screen>) {
    match view {
        Some(screen) => screen.quit().await,
        None => std::future::pending().await,
    }
}

fn plain(options: &Run) -> bool {
    options.plain || !io::stdout().is_terminal() || !io::stdin().is_terminal()
}

/// Envoy tells of a taken port only in the middle of its log.
fn free(addr: SocketAddr) -> Result<(), Taken> {
    TcpListener::bind(addr)
        .map(drop)
        .map_err(|source| Taken { addr, source })
}

fn title(options: &Run, services: &[Service], api: SocketAddr) -> Title {
    let port = options.proxy.port();
    let host = services.first().map(Service::host).unwrap_or_default();
    let commands = vec![
        format!("curl -i -H 'host: {host}' localhost:{port}/"),
        format!("curl -i localhost:{port}/burstmetrics/services/"),
    ];
    Title {
        proxy: options.proxy,
        workers: options.concurrency,
        api,
        commands,
    }
}

fn introduce(title: &Title) -> Option<Screen> {
    say(&format!(
        "Envoy on localhost:{}, the Kubernetes API on {}; try:",
        title.proxy.port(),
        title.api
    ));
    title.commands.iter().for_each(|command| say(&format!("  {command}")));
    None
}
