//! How an Envoy is started.

use std::{fs, net::SocketAddr, path::Path, process::Command};

use super::{Envoy, START, Version};
use crate::{
    http::{self, Answer},
    process::Process,
    wait::NotYet,
};

/// Stands for the folder of an Envoy's files in its configuration.
const FOLDER: &str = "$FOLDER";

/// An Envoy about to be started.
#[derive(Debug)]
pub struct EnvoyBuilder {
    version: Version,
    workers: u32,
    files: Vec<(String, String)>,
    arguments: Vec<String>,
    restart: Restart,
}

/// Whether another Envoy may take over from one as it runs, or does.
/// <https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/operations/hot_restart>
#[derive(Debug)]
enum Restart {
    /// Several run at once, and none takes over from another.
    Never,
    /// The first of a line of its own.
    First,
    /// The second of the line with that base id.
    Second(String),
}

/// Where the first of a line writes its base id.
const BASE_ID: &str = "base-id";

impl EnvoyBuilder {
    pub(super) fn new(version: Version) -> Self {
        Self {
            version,
            workers: 2,
            files: Vec::new(),
            arguments: Vec::new(),
            restart: Restart::Never,
        }
    }

    /// The number of worker threads; 2 by default.
    #[must_use]
    pub fn workers(mut self, workers: u32) -> Self {
        self.workers = workers;
        self
    }

    /// A file beside the bootstrap, which names it `$FOLDER/NAME`.
    #[must_use]
    pub fn file(mut self, name: &str, content: &str) -> Self {
        self.files.push((name.to_owned(), content.to_owned()));
        self
    }

    /// One more argument of the command line.
    #[must_use]
    pub fn argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    /// Allows another Envoy to take over from it by a hot restart.
    #[must_use]
    pub fn restartable(mut self) -> Self {
        self.restart = Restart::First;
        self
    }

    /// Takes over from a restartable Envoy: first its listeners, and then it ends it.
    ///
    /// # Panics
    /// When the other Envoy is not restartable.
    #[must_use]
    #[track_caller]
    pub fn after(mut self, envoy: &Envoy) -> Self {
        let id = fs::read_to_string(envoy.folder().join(BASE_ID)).expect("a restartable Envoy");
        self.restart = Restart::Second(id.trim().to_owned());
        self
    }

    /// Starts it with that bootstrap and waits until it is live. The kit sets the address of the admin interface;
    /// listeners may ask for port 0 and are found by [`Envoy::listener`].
    ///
    /// # Panics
    /// When it ends, or is not live in time.
    #[must_use]
    #[track_caller]
    pub fn start(self, bootstrap: &str) -> Envoy {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, content) in &self.files {
            replace(folder.path(), name, content);
        }
        replace(folder.path(), "bootstrap.yaml", bootstrap);
        let mut process = Process::start("envoy", folder.path(), &mut self.command(folder.path()));
        let admin = process.wait_for(START, "the admin interface listens", || admin_address(folder.path()));
        process.wait_for(START, "Envoy is live", || live(admin));
        Envoy { process, admin, folder }
    }

    fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(self.version.part().path());
        command
            .arg("--config-path")
            .arg(folder.join("bootstrap.yaml"))
            .args([
                "--config-yaml",
                "admin: {address: {socket_address: {address: 127.0.0.1, port_value: 0}}}",
            ])
            .arg("--admin-address-path")
            .arg(folder.join("admin-address"))
            .args(["--concurrency", &self.workers.to_string()])
            .args(&self.arguments);
        match &self.restart {
            Restart::Never => command.arg("--disable-hot-restart"),
            Restart::First => command
                .args(["--use-dynamic-base-id", "--base-id-path"])
                .arg(folder.join(BASE_ID)),
            Restart::Second(id) => command.args(["--base-id", id, "--restart-epoch", "1"]),
        };
        command
    }
}

/// Writes a file of an Envoy by rename, which is what it watches for.
pub(super) fn replace(folder: &Path, name: &str, content: &str) {
    let path = folder.join(name);
    let unfinished = folder.join(format!(".{name}"));
    fs::write(&unfinished, content.replace(FOLDER, &folder.display().to_string())).expect("a configuration file");
    fs::rename(unfinished, path).expect("a configuration file");
}

fn admin_address(folder: &Path) -> Result<SocketAddr, NotYet> {
    let address = fs::read_to_string(folder.join("admin-address")).map_err(|error| NotYet(error.to_string()))?;
    address.parse().map_err(|error| NotYet(format!("`{address}`: {error}")))
}

fn live(admin: SocketAddr) -> Result<(), NotYet> {
    let answer = http::try_send("GET", &format!("http://{admin}/ready"), &[]);
    match answer.map_err(|error| NotYet(error.to_string()))? {
        Answer { status: 200, .. } => Ok(()),
        Answer { body, .. } => Err(NotYet(body)),
    }
}
