//! Where a run shows its dashboard.

use std::io::{self, IsTerminal};

use super::dashboard::Dashboard;
use super::recording::{Progress, Recorder, RecordingError};
use super::screen::Screen;
use super::table::Title;
use crate::args::Run;
use crate::stderr::print_line;

pub(super) enum Output {
    /// A line for each change, for a pipe or CI.
    Lines,
    /// A table in the terminal.
    Table(Screen),
    /// The table as a file.
    Recording(Recorder),
}

impl Output {
    pub(super) fn open(options: &Run, title: &Title) -> io::Result<Self> {
        if let Some(path) = &options.record {
            return Recorder::new(path.clone(), options.seconds).map(Self::Recording);
        }
        if options.plain || !io::stdout().is_terminal() || !io::stdin().is_terminal() {
            print_introduction(title);
            return Ok(Self::Lines);
        }
        Screen::open().map(Self::Table)
    }

    /// Draws the table in the terminal; called for each frame.
    pub(super) fn draw(&mut self, title: &Title, dashboard: &Dashboard) -> io::Result<()> {
        match self {
            Self::Table(screen) => screen.draw(title, dashboard),
            Self::Lines | Self::Recording(_) => Ok(()),
        }
    }

    /// Records a frame; called once a second. Returns whether the run goes on.
    pub(super) fn record(&mut self, title: &Title, dashboard: &Dashboard) -> io::Result<Progress> {
        match self {
            Self::Recording(recorder) => recorder.record(title, dashboard),
            Self::Lines | Self::Table(_) => Ok(Progress::Recording),
        }
    }

    /// Returns once a key ends the run.
    pub(super) async fn quit(&mut self) {
        match self {
            Self::Table(screen) => screen.quit().await,
            Self::Lines | Self::Recording(_) => std::future::pending().await,
        }
    }

    /// Restores the terminal, or writes the recording.
    pub(super) fn close(self) -> Result<(), RecordingError> {
        match self {
            Self::Lines | Self::Table(_) => Ok(()),
            Self::Recording(recorder) => recorder.write(),
        }
    }

    pub(super) fn is_lines(&self) -> bool {
        matches!(self, Self::Lines)
    }
}

fn print_introduction(title: &Title) {
    print_line(format_args!(
        "Envoy on localhost:{}, the Kubernetes API on {}; try:",
        title.proxy.port(),
        title.api
    ));
    title
        .commands
        .iter()
        .for_each(|command| print_line(format_args!("  {command}")));
}
