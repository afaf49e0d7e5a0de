//! `burst-lab run --record FILE`: the table of each second as an animated SVG.

mod cells;
mod svg;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::PathBuf;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;

use super::dashboard::Dashboard;
use super::table::{self, Title};
use crate::stderr::print_line;

/// The usual size of a terminal.
const WIDTH: u16 = 80;
const HEIGHT: u16 = 24;
/// Seconds between two messages about the progress.
const REPORTED: usize = 10;

/// The recording cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the recording to {path:?}: {source}")]
pub(crate) struct RecordingError {
    path: PathBuf,
    source: io::Error,
}

/// Draws the table into memory, a frame per second.
pub(crate) struct Recorder {
    path: PathBuf,
    wanted: usize,
    terminal: Terminal<TestBackend>,
    frames: Vec<Buffer>,
}

/// Whether there are enough frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Recording,
    Complete,
}

impl Recorder {
    pub(crate) fn new(path: PathBuf, seconds: u16) -> io::Result<Self> {
        let terminal = Terminal::new(TestBackend::new(WIDTH, HEIGHT)).map_err(io::Error::other)?;
        Ok(Recorder {
            path,
            wanted: seconds.into(),
            terminal,
            frames: Vec::new(),
        })
    }

    /// Draws a frame. The first one is that of the first answer.
    pub(crate) fn record(&mut self, title: &Title, dashboard: &Dashboard) -> io::Result<Progress> {
        if !dashboard.has_started() {
            return Ok(Progress::Recording);
        }
        let frame = self.terminal.draw(|frame| table::draw(frame, title, dashboard));
        self.frames.push(frame.map_err(io::Error::other)?.buffer.clone());
        if self.frames.len().is_multiple_of(REPORTED) {
            print_line(format_args!(
                "recorded {} of {} seconds",
                self.frames.len(),
                self.wanted
            ));
        }
        Ok(if self.frames.len() < self.wanted {
            Progress::Recording
        } else {
            Progress::Complete
        })
    }

    /// Writes what was recorded; nothing if Envoy never answered.
    pub(crate) fn write(&self) -> Result<(), RecordingError> {
        if self.frames.is_empty() {
            return Ok(());
        }
        let svg = svg::animation(&self.frames);
        print_line(format_args!(
            "{}: {} seconds, {} bytes",
            self.path.display(),
            self.frames.len(),
            svg.len()
        ));
        fs::write(&self.path, svg).map_err(|source| RecordingError {
            path: self.path.clone(),
            source,
        })
    }
}
