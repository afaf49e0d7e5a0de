//! A real Envoy.

mod builder;
mod validate;

use std::{net::SocketAddr, path::Path, process::Command, time::Duration};

use serde_json::Value;
use tempfile::TempDir;

use self::builder::replace;
pub use self::{
    builder::EnvoyBuilder,
    validate::{Refused, validate},
};
use crate::{
    http::{self, Answer},
    part::Part,
    process::Process,
    wait,
};

/// Envoy starts in 1 s on a machine with nothing else to do; V8 needs some more for each module, a story has 1,500 clusters,
/// and a dozen of them start at once where a test run begins.
const START: Duration = Duration::from_secs(300);

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

    /// The number after the first dot in the version of the program that is there, whatever the pinned one is.
    ///
    /// # Panics
    /// When the program does not say it.
    #[must_use]
    #[track_caller]
    pub fn minor(self) -> u32 {
        let path = self.part().path();
        let output = Command::new(&path).arg("--version").output().expect("Envoy starts");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        // `… version: COMMIT/1.36.2/Clean/RELEASE/BoringSSL`
        let version = said
            .rsplit("version: ")
            .next()
            .and_then(|build| build.split('/').nth(1));
        version
            .and_then(|version| version.split('.').nth(1)?.parse().ok())
            .unwrap_or_else(|| panic!("{} says of its version: {said}", path.display()))
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
        EnvoyBuilder::new(version)
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
        // To write all stats of many clusters takes the main thread seconds, in which it does nothing else.
        let quoted: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let stats = self.admin(&format!("/stats?filter=%5E%5CQ{quoted}%5CE%24")).body;
        stats
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.parse().ok())
    }

    /// A stat of the filter, by its name without a prefix; 0 where there is none. Envoy 1.36 names the stats of a VM after the
    /// filter that made it, which is the upstream filter if there is one.
    #[must_use]
    #[track_caller]
    pub fn filter_stat(&self, name: &str) -> u64 {
        let mut values = ["", "cluster.kube_api."]
            .iter()
            .filter_map(|scope| self.stat(&format!("{scope}wasmcustom.{name}")));
        values.next().unwrap_or_default()
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
