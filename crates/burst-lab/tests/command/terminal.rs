//! `burst-lab run` in a pseudo-terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::process::{FakeEnvoy, LIMIT, free_addr, is_running};

const ENTER: &str = "\u{1b}[?1049h";
const LEAVE: &str = "\u{1b}[?1049l";

struct Terminal {
    keyboard: File,
    user: OwnedFd,
    screen: mpsc::Receiver<Vec<u8>>,
    seen: String,
    child: Child,
}

impl Terminal {
    fn run(envoy: &FakeEnvoy) -> Self {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let user = File::options()
            .read(true)
            .write(true)
            .open(ptsname(&controller, Vec::new()).unwrap().to_str().unwrap());
        let user: OwnedFd = user.unwrap().into();
        tcsetwinsize(
            &user,
            Winsize {
                ws_row: 24,
                ws_col: 80,
                ws_xpixel: 0,
                ws_ypixel: 0,
            },
        )
        .unwrap();
        let mut command = envoy.run(&free_addr());
        command
            .stdin(user.try_clone().unwrap())
            .stdout(user.try_clone().unwrap());
        let child = command.stderr(Stdio::null()).spawn().unwrap();
        let (send, screen) = mpsc::channel();
        let mut output = File::from(controller.try_clone().unwrap());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = output.read(&mut bytes) {
                let _ = send.send(bytes[..n].to_vec());
            }
        });
        Terminal {
            keyboard: controller.into(),
            user,
            screen,
            seen: String::new(),
            child,
        }
    }

    fn shows(&mut self, text: &str) {
        let deadline = Instant::now() + LIMIT;
        while !self.seen.contains(text) {
            let bytes = self
                .screen
                .recv_timeout(deadline.saturating_duration_since(Instant::now()));
            let bytes = bytes.unwrap_or_else(|_| panic!("the terminal did not show {text:?}, but {:?}", self.seen));
            self.seen.push_str(&String::from_utf8_lossy(&bytes));
        }
    }

    fn is_raw(&self) -> bool {
        !tcgetattr(&self.user).unwrap().local_modes.contains(LocalModes::ECHO)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts it, ends it with `by`, and checks that Envoy is gone and the terminal is restored.
fn assert_clean_end(by: impl FnOnce(&mut Terminal)) {
    let envoy = FakeEnvoy::new("exec sleep 1000");
    let mut terminal = Terminal::run(&envoy);
    terminal.shows(ENTER);
    terminal.shows("ngsa-svc-1.default");
    assert!(terminal.is_raw() && is_running(envoy.pid()));
    by(&mut terminal);
    terminal.shows(LEAVE);
    let status = terminal.child.wait().unwrap();
    assert!(status.success(), "{status}");
    assert!(!terminal.is_raw() && !is_running(envoy.pid()));
}

#[test]
fn q_ends_the_run_and_restores_the_terminal() {
    assert_clean_end(|terminal| terminal.keyboard.write_all(b"q").unwrap());
}

#[test]
fn ctrl_c_ends_the_run_and_restores_the_terminal() {
    assert_clean_end(|terminal| terminal.keyboard.write_all(b"\x03").unwrap());
}

#[test]
fn a_signal_ends_the_run_and_restores_the_terminal() {
    let term = |pid: u32| kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::TERM).unwrap();
    assert_clean_end(|terminal| term(terminal.child.id()));
}

#[test]
fn the_end_of_envoy_restores_the_terminal() {
    let envoy = FakeEnvoy::new("exit 3");
    let mut terminal = Terminal::run(&envoy);
    terminal.shows(ENTER);
    terminal.shows(LEAVE);
    assert_eq!(terminal.child.wait().unwrap().code(), Some(1));
    assert!(!terminal.is_raw());
}
