//! A folder like the root of the repository, with the ports of `envoy-local/` moved to free ones, so that a test meets
//! neither another test nor a `make run` beside it.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use burst_testkit::{Part, Process, http, port, repository, wait, wasm};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The module alone takes seconds to compile on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Envoy, its admin interface, the Kubernetes API, the services.
const PORTS: [&str; 4] = ["8080", "9901", "8001", "8002"];
const MODULE: &str = "burst-metrics.wasm";

pub(crate) struct Ground {
    folder: TempDir,
    ports: [u16; 4],
}

impl Ground {
    pub(crate) fn new() -> Self {
        let ground = Ground {
            folder: tempfile::tempdir().unwrap(),
            ports: PORTS.map(|_| port::free()),
        };
        for folder in ["envoy-local", "target/wasm"] {
            fs::create_dir_all(ground.path().join(folder)).unwrap();
        }
        symlink(wasm(MODULE), ground.path().join("target/wasm").join(MODULE)).unwrap();
        for config in ["envoy.yaml", "context.yaml"] {
            let config = Path::new("envoy-local").join(config);
            let text = fs::read_to_string(repository().join(&config)).unwrap();
            let text = ground.moved(&text).replace("0.0.0.0", "127.0.0.1");
            fs::write(ground.path().join(config), text).unwrap();
        }
        ground
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The text with every port moved.
    pub(crate) fn moved(&self, text: &str) -> String {
        // Marked first: a new port may hold the digits of an old one.
        let mark = |place: usize| format!("\u{0}{place}\u{0}");
        let marked = (0..)
            .zip(PORTS)
            .fold(text.to_owned(), |text, (place, port)| text.replace(port, &mark(place)));
        (0..).zip(self.ports).fold(marked, |text, (place, port)| {
            text.replace(&mark(place), &port.to_string())
        })
    }

    pub(crate) fn addr(&self, port: &str) -> SocketAddr {
        self.moved(&format!("127.0.0.1:{port}")).parse().unwrap()
    }

    /// A program of this ground; it is asked to end when this is dropped.
    pub(crate) fn start(&self, name: &str, command: &mut Command) -> Running {
        Running(Process::start(name, self.path(), command))
    }

    /// `burst-lab run` on this ground, with the real Envoy.
    pub(crate) fn run(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_burst-lab"));
        command.current_dir(self.path()).arg("run");
        command.arg("--envoy").arg(Part::Envoy.path());
        for (option, port) in [("--proxy", "8080"), ("--api", "8001"), ("--services", "8002")] {
            command.arg(option).arg(self.addr(port).to_string());
        }
        command
    }

    /// The answer of a service through Envoy, once it has the header.
    pub(crate) fn header(&self, host: &str) -> String {
        let url = format!("http://{}/", self.addr("8080"));
        wait::for_ok(PATIENCE, &format!("x-burst of {host}"), || {
            let answer = http::try_send("GET", &url, &[("host", host)]).map_err(|error| error.to_string())?;
            answer.header("x-burst").map(str::to_owned).ok_or(format!("{answer:?}"))
        })
    }
}

/// A program that has children of its own: killed outright it would leave them behind.
pub(crate) struct Running(pub(crate) Process);

impl Running {
    pub(crate) fn terminate(&self) {
        // It may have ended already, which is what the wait is for.
        let _ = kill_process(Pid::from_raw(self.0.id().cast_signed()).unwrap(), Signal::TERM);
        wait::until(PATIENCE, "it ends after SIGTERM", || !is_running(self.0.id()));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.terminate();
    }
}

/// False for a process that is gone or waits to be collected.
fn is_running(id: u32) -> bool {
    fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}
