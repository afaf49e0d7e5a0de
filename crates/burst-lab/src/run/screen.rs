//! The terminal in raw mode; restored on drop, also after a panic.

use std::io;
use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::DefaultTerminal;
use tokio::sync::mpsc;

use super::dashboard::Dashboard;
use super::table::{self, Title};

/// How long the key reader takes to notice that the receiver is gone.
const KEY_POLL: Duration = Duration::from_millis(100);

pub(crate) struct Screen {
    terminal: DefaultTerminal,
    quit: mpsc::Receiver<()>,
}

impl Screen {
    /// Switches to raw mode and the alternate screen; ratatui's panic hook restores both.
    pub(crate) fn open() -> io::Result<Self> {
        let terminal = ratatui::try_init()?;
        let (send, quit) = mpsc::channel(1);
        // Reading the terminal blocks, so it has a thread of its own, which ends with the receiver.
        std::thread::spawn(move || while !send.is_closed() && !quit_requested(&send) {});
        Ok(Screen { terminal, quit })
    }

    pub(crate) fn draw(&mut self, title: &Title, dashboard: &Dashboard) -> io::Result<()> {
        self.terminal
            .draw(|frame| table::draw(frame, title, dashboard))
            .map(drop)
    }

    /// Returns once q or Ctrl-C was pressed.
    pub(crate) async fn quit(&mut self) {
        if self.quit.recv().await.is_none() {
            // Keys cannot be read; signals still end the run.
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Returns true once no more keys need to be read.
fn quit_requested(quit: &mpsc::Sender<()>) -> bool {
    match event::poll(KEY_POLL).and_then(|ready| if ready { event::read().map(Some) } else { Ok(None) }) {
        Ok(Some(Event::Key(key))) if is_quit_key(key) => quit.blocking_send(()).is_ok(),
        Ok(_) => false,
        Err(_) => true,
    }
}

fn is_quit_key(key: KeyEvent) -> bool {
    // Raw mode delivers Ctrl-C as a key.
    let interrupt = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    key.kind == KeyEventKind::Press && (interrupt || key.code == KeyCode::Char('q'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q_and_ctrl_c_end_it_and_no_other_key() {
        let key = |code, modifiers| is_quit_key(KeyEvent::new(KeyCode::Char(code), modifiers));
        assert!(key('q', KeyModifiers::NONE) && key('c', KeyModifiers::CONTROL));
        assert!(!key('c', KeyModifiers::NONE) && !key('x', KeyModifiers::CONTROL));
    }
}
