//! `burst-lab run`: the lab or a cluster, Envoy in front of it, traffic through it, and a view of what comes back.

mod board;
mod envoy;
mod lines;
#[cfg(feature = "context")]
mod picture;
mod screen;
mod spark;
mod table;
mod traffic;
mod world;

use std::error::Error;
use std::io::{self, IsTerminal};
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use crate::args::Run;
use crate::signals::Signals;
use crate::words::say;
use board::{Board, Seen};
use envoy::{Envoy, EnvoyError};
use screen::Screen;
use table::Title;
use world::World;

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

/// What is heard of the services through Envoy.
enum News {
    /// An answer of the service at that place of the board.
    Answer(usize, Seen),
    /// What Envoy itself told of all of them.
    #[cfg(feature = "context")]
    Picture(picture::Picture),
}

/// Everything at work.
struct Show {
    world: World,
    board: Board,
    title: Title,
    view: Option<Screen>,
    started: Instant,
    news: mpsc::UnboundedReceiver<News>,
}

pub(crate) async fn run(options: Run, signals: Signals) -> Result<(), Box<dyn Error>> {
    let mut world = World::start(&options).await?;
    free(options.proxy)?;
    let mut envoy = Envoy::start(&options)?;
    let (send, news) = mpsc::unbounded_channel();
    let (board, asking) = world.go(options.proxy, &send);
    let title = title(&options, &world);
    let view = if plain(&options) {
        introduce(&title)
    } else {
        Some(Screen::take()?)
    };
    let mut show = Show {
        world,
        board,
        title,
        view,
        started: Instant::now(),
        news,
    };
    let end = show.go_on(&mut envoy, signals, options.limit).await;
    drop(asking);
    show.close();
    envoy.end().await;
    end.or_else(reader_left)
}

/// What Envoy said before it ended by itself, if that is what went wrong.
pub(crate) fn last_lines<'a>(error: &'a (dyn Error + 'static)) -> &'a [String] {
    match error.downcast_ref() {
        Some(EnvoyError::Left { lines, .. }) => lines,
        _ => &[],
    }
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
                Some(news) = self.news.recv() => self.hear(news)?,
                line = envoy.next() => self.heard(&line?),
                () = quit(&mut self.view) => return Ok(()),
                () = signals.asked_to_end() => return Ok(()),
                () = &mut over => return Ok(()),
            }
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        self.board.elapsed = self.started.elapsed();
        self.board.api_requests = self.world.api_requests();
        self.view
            .as_mut()
            .map_or(Ok(()), |screen| screen.draw(&self.title, &self.board))
    }

    fn hear(&mut self, news: News) -> io::Result<()> {
        match news {
            News::Answer(row, seen) => self.note(row, seen),
            #[cfg(feature = "context")]
            News::Picture(picture::Picture::Whole(services)) => {
                let changed = self.board.show(services);
                let rows = self.board.rows.iter().filter(|row| changed.contains(&row.name));
                let mut rows = rows.filter(|_| self.view.is_none());
                rows.try_for_each(|row| lines::changed(&mut io::stdout(), self.started.elapsed(), row))
            }
            #[cfg(feature = "context")]
            News::Picture(picture::Picture::None(status, reason)) => {
                if self.board.cannot_show(&Seen::Failure(status), &reason) && self.view.is_none() {
                    say(format_args!("{status}: {reason}"));
                }
                Ok(())
            }
        }
    }

    fn note(&mut self, row: usize, seen: Seen) -> io::Result<()> {
        let changed = self.board.note(row, seen);
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
            say(format_args!("envoy: {line}"));
        }
        self.board.warning = Some(line.to_owned());
    }

    /// Gives the terminal back, then says how it was.
    fn close(&mut self) {
        self.view = None;
        let seconds = self.started.elapsed().as_secs_f64();
        let requests = self.board.requests();
        match self.world {
            World::Sample(_) => say(format_args!("{requests} requests in {seconds:.0} s")),
            #[cfg(feature = "context")]
            World::Cluster(_) => {
                let (lists, api) = (self.world.api_requests(), &self.title.api);
                say(format_args!("{lists} lists of {api} in {seconds:.0} s"));
            }
        }
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

fn title(options: &Run, world: &World) -> Title {
    let port = options.proxy.port();
    let service = world.host();
    let service = service.map(|host| format!("curl -i -H 'host: {host}' localhost:{port}/"));
    let all = format!("curl -i localhost:{port}/burstmetrics/services/");
    Title {
        proxy: options.proxy,
        workers: options.concurrency,
        api: world.api(),
        commands: service.into_iter().chain([all]).collect(),
    }
}

fn introduce(title: &Title) -> Option<Screen> {
    say(format_args!(
        "Envoy on localhost:{}, the Kubernetes API on {}; try:",
        title.proxy.port(),
        title.api
    ));
    title
        .commands
        .iter()
        .for_each(|command| say(format_args!("  {command}")));
    None
}
