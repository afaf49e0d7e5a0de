//! A pseudo-terminal in which burstctl runs.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::process::Command;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// A terminal of a number of columns.
pub(crate) struct Screen(u16);

impl Screen {
    pub(crate) fn of_width(columns: u16) -> Self {
        Self(columns)
    }

    /// Returns what a user sees, with escape sequences.
    pub(crate) fn run(&self, args: &[&str], environment: &[(&str, &str)]) -> String {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let name = ptsname(&controller, Vec::new()).unwrap();
        let user = File::options().read(true).write(true).open(name.to_str().unwrap());
        let user: OwnedFd = user.unwrap().into();
        let size = Winsize {
            ws_row: 24,
            ws_col: self.0,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&user, size).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_burstctl"));
        command
            .args(args)
            .env_remove("NO_COLOR")
            // In CI colours are on, whatever the terminal is.
            .env_remove("CI")
            .envs(environment.iter().copied())
            .stdin(user.try_clone().unwrap())
            .stdout(user.try_clone().unwrap())
            .stderr(user);
        let mut child = command.spawn().unwrap();
        // It holds the user's end too, and the read below ends when no one does.
        drop(command);
        let mut shown = Vec::new();
        // Linux reports EIO once the last user of the terminal has closed it.
        let _ = File::from(controller).read_to_end(&mut shown);
        child.wait().unwrap();
        String::from_utf8(shown).unwrap().replace("\r\n", "\n")
    }
}
