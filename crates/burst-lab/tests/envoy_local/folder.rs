//! A folder like the root of the repository, with the ports of `envoy-local/` replaced by free ones, so that tests do not
//! collide with each other or with a `make run`.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use burst_testkit::{Part, Process, http, port, repository, wait, wasm};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Compiling the module alone takes seconds on a busy machine.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(120);

/// The ports of Envoy, its admin interface, the Kubernetes API and the services.
const PORTS: [&str; 4] = ["8080", "9901", "8001", "8002"];
const MODULE: &str = "burst-metrics.wasm";

/// The `burst-lab` that Cargo built for these tests, with the feature `context`.
pub(crate) const BURST_LAB: &str = env!("CARGO_BIN_EXE_burst-lab");

pub(crate) struct LocalFolder {
    dir: TempDir,
    ports: [u16; 4],
}

impl LocalFolder {
    pub(crate) fn new() -> Self {
        let folder = LocalFolder {
            dir: tempfile::tempdir().unwrap(),
            ports: PORTS.map(|_| port::free()),
        };
        for name in ["envoy-local", "target/wasm"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        symlink(wasm(MODULE), folder.path().join("target/wasm").join(MODULE)).unwrap();
        for config in ["envoy.yaml", "context.yaml"] {
            let config = Path::new("envoy-local").join(config);
            let text = fs::read_to_string(repository().join(&config)).unwrap();
            let text = folder.with_free_ports(&text).replace("0.0.0.0", "127.0.0.1");
            fs::write(folder.path().join(config), text).unwrap();
        }
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Replaces every port of `envoy-local/` in a text by a free one.
    pub(crate) fn with_free_ports(&self, text: &str) -> String {
        // Placeholders first, because a new port may contain the digits of an old one.
        let mark = |place: usize| format!("\u{0}{place}\u{0}");
        let marked = (0..)
            .zip(PORTS)
            .fold(text.to_owned(), |text, (place, port)| text.replace(port, &mark(place)));
        (0..).zip(self.ports).fold(marked, |text, (place, port)| {
            text.replace(&mark(place), &port.to_string())
        })
    }

    pub(crate) fn addr(&self, port: &str) -> SocketAddr {
        self.with_free_ports(&format!("127.0.0.1:{port}")).parse().unwrap()
    }

    /// Starts a program for this folder; it is terminated when the result is dropped.
    pub(crate) fn start(&self, name: &str, command: &mut Command) -> Running {
        Running(Process::start(name, self.path(), command))
    }

    /// `burst-lab run` in this folder, with the real Envoy.
    pub(crate) fn run(&self) -> Command {
        let mut command = Command::new(BURST_LAB);
        command.current_dir(self.path()).arg("run");
        command.arg("--envoy").arg(Part::Envoy.path());
        for (option, port) in [("--proxy", "8080"), ("--api", "8001"), ("--services", "8002")] {
            command.arg(option).arg(self.addr(port).to_string());
        }
        command.arg("--admin").arg(self.addr("9901").port().to_string());
        command
    }

    /// Waits until a response of a service through Envoy has the header, and returns the header.
    pub(crate) fn header(&self, host: &str) -> String {
        let url = format!("http://{}/", self.addr("8080"));
        wait::for_ok(TIMEOUT, &format!("x-burst of {host}"), || {
            let answer = http::try_send("GET", &url, &[("host", host)]).map_err(|error| error.to_string())?;
            answer.header("x-burst").map(str::to_owned).ok_or(format!("{answer:?}"))
        })
    }

    /// Waits until two changes arrived, and Envoy began no request to the Kubernetes API from before the first until after the
    /// second. So a request that was open all the time brought them. `next_change` waits for a change.
    pub(crate) fn wait_for_changes_by_stream(&self, mut next_change: impl FnMut()) {
        wait::for_ok(TIMEOUT, "two changes without a request", || {
            let before = self.api_requests();
            next_change();
            next_change();
            let after = self.api_requests();
            if after == before {
                Ok(())
            } else {
                Err(format!("{before} requests, and then {after}"))
            }
        });
    }

    /// The number of requests that Envoy has begun to the Kubernetes API.
    fn api_requests(&self) -> u64 {
        const STAT: &str = "cluster.kube_api.upstream_rq_total";
        let stats = http::get(&format!("http://{}/stats?filter=^{STAT}$", self.addr("9901"))).body;
        let count = stats
            .trim()
            .strip_prefix(STAT)
            .and_then(|rest| rest.strip_prefix(": ")?.parse().ok());
        count.unwrap_or_else(|| panic!("{stats}"))
    }
}

/// A program with child processes, which a SIGKILL would leave behind.
pub(crate) struct Running(pub(crate) Process);

impl Running {
    pub(crate) fn terminate(&self) {
        // It may have exited already.
        let _ = kill_process(Pid::from_raw(self.0.id().cast_signed()).unwrap(), Signal::TERM);
        wait::until(TIMEOUT, "it ends after SIGTERM", || !is_running(self.0.id()));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.terminate();
    }
}

/// Returns false for a process that has exited, also if it was not yet waited for.
fn is_running(id: u32) -> bool {
    fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}
