//! A real Envoy.

use std::{fs, net::SocketAddr, path::Path, process::Command, time::Duration};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    http::{self, Answer},
    part::Part,
    process::Process,
    wait::{self, NotYet},
};

/// Envoy starts in 1 s on a machine with nothing else to do; V8 needs some more for each module.
const START: Duration = Duration::from_secs(60);

/// Stands for the folder of an Envoy's files in its configuration.
const FOLDER: &str = "$FOLDER";

/// Which Envoy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// The one everything is tested on.
    Tested,
    /// The oldest one supported.
    Oldest,
}

impl Version {
    /// Both, oldest first.
    pub const ALL: [Self; 2] = [Self::Oldest, Self::Tested];

    /// The program's part.
    #[must_use]
    pub fn part(self) -> Part {
        match self {
            Self::Tested => Part::Envoy,
            Self::Oldest => Part::EnvoyOldest,
        }
    }
}

/// An Envoy about to be started.
#[derive(Debug)]
pub struct EnvoyBuilder {
    version: Version,
    workers: u32,
    files: Vec<(String, String)>,
    arguments: Vec<String>,
}

impl EnvoyBuilder {
    /// The number of worker threads; 2 unless told.
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

    /// Starts it with that bootstrap and waits until it is live. The kit sets the address of the admin interface;
    /// listeners may ask for port 0 and are found by [`Envoy::listener`].
    ///
    /// # Panics
    /// When it ends, or is not live in time.
    #[must_use]
    #[track_caller]
    pub fn start(self, bootstrap: &str) -> Envoy {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, content) in self
            .files
            .iter()
            .map(|(name, content)| (name.as_str(), content.as_str()))
        {
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
            // Several run at once, and none takes over from another.
            .arg("--disable-hot-restart")
            .args(&self.arguments);
        command
    }
}

/// A running Envoy; it is gone when this is dropped.
#[derive(Debug)]
pub struct Envoy {
    process: Process,
    admin: SocketAddr,
    folder: TempDir,
}

impl Envoy {
    /// One of that version, to be started.
    #[must_use]
    pub fn of(version: Version) -> EnvoyBuilder {
        EnvoyBuilder {
            version,
            workers: 2,
            files: Vec::new(),
            arguments: Vec::new(),
        }
    }

    /// Starts one with that bootstrap and that number of workers.
    ///
    /// # Panics
    /// When it ends, or is not live in time.
    #[must_use]
    #[track_caller]
    pub fn start(version: Version, bootstrap: &str, workers: u32) -> Self {
        Self::of(version).workers(workers).start(bootstrap)
    }

    /// Where the listener of that name listens.
    ///
    /// # Panics
    /// When there is none in time.
    #[must_use]
    #[track_caller]
    pub fn listener(&self, name: &str) -> SocketAddr {
        wait::for_ok(START, &format!("the listener `{name}`"), || {
            let listeners = self.admin("/listeners?format=json").body;
            address_of(name, &listeners).ok_or(listeners)
        })
    }

    /// GETs a path of the admin interface.
    ///
    /// # Panics
    /// When there is no answer.
    #[must_use]
    #[track_caller]
    pub fn admin(&self, path: &str) -> Answer {
        http::get(&self.admin_url(path))
    }

    /// The URL of a path of the admin interface.
    #[must_use]
    pub fn admin_url(&self, path: &str) -> String {
        format!("http://{}{path}", self.admin)
    }

    /// POSTs to a path of the admin interface, as `/logging?wasm=debug` wants it.
    ///
    /// # Panics
    /// When there is no answer.
    #[track_caller]
    pub fn admin_post(&self, path: &str) -> Answer {
        http::send("POST", &self.admin_url(path), &[])
    }

    /// A counter or gauge by its name in `/stats`, as `wasmcustom.burst_poll_total`; `None` where there is none.
    #[must_use]
    #[track_caller]
    pub fn stat(&self, name: &str) -> Option<u64> {
        let stats = self.admin("/stats").body;
        stats
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.parse().ok())
    }

    /// A sample of `/stats/prometheus` by its name with its labels, as Envoy writes them; `None` where there is none.
    #[must_use]
    #[track_caller]
    pub fn metric(&self, name: &str) -> Option<f64> {
        let metrics = self.admin("/stats/prometheus").body;
        metrics
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
    }

    /// Puts new content in a file of this Envoy, by rename, which is what it watches for.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn replace(&self, file: &str, content: &str) {
        replace(self.folder.path(), file, content);
    }

    /// The folder that stands for `$FOLDER`.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Everything it logged so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// Waits until the log has `text`.
    ///
    /// # Panics
    /// When it does not within `patience`.
    #[track_caller]
    pub fn wait_for_log(&self, patience: Duration, text: &str) {
        self.process.wait_for_log(patience, text);
    }
}

/// What Envoy wrote as it refused a bootstrap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

/// What `envoy --mode validate` says of a bootstrap; it loads modules and runs their configuration too.
///
/// # Errors
/// What it wrote when it refuses the bootstrap.
///
/// # Panics
/// When Envoy cannot be started.
pub fn validate(version: Version, bootstrap: &Path) -> Result<(), Refused> {
    let output = Command::new(version.part().path())
        .args(["--mode", "validate", "--disable-hot-restart", "--config-path"])
        .arg(bootstrap)
        .output()
        .expect("Envoy starts");
    if output.status.success() {
        Ok(())
    } else {
        Err(Refused(String::from_utf8_lossy(&output.stderr).into_owned()))
    }
}

fn replace(folder: &Path, name: &str, content: &str) {
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

/// The port that Envoy was given for a listener that asked for any.
fn address_of(name: &str, listeners: &str) -> Option<SocketAddr> {
    let listeners: Value = serde_json::from_str(listeners).ok()?;
    let listener = listeners["listener_statuses"]
        .as_array()?
        .iter()
        .find(|listener| listener["name"] == name)?;
    let address = &listener["local_address"]["socket_address"];
    let port = u16::try_from(address["port_value"].as_u64()?).ok()?;
    Some(SocketAddr::new(address["address"].as_str()?.parse().ok()?, port))
}
