//! A registry on this machine, images that are pushed to it, and Istio's agent that fetches them.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
    time::Duration,
};

use burst_testkit::{Part, Process, image, repository, wait};
use tempfile::TempDir;

/// A registry listens within milliseconds on an idle machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The tag of every image.
const TAG: &str = "1";

/// An empty registry, which ends when this is dropped.
pub(crate) struct Registry {
    address: String,
    _process: Process,
    /// An empty folder for the credentials of clients.
    no_credentials: TempDir,
}

impl Registry {
    pub(crate) fn start() -> Self {
        let no_credentials = tempfile::tempdir().unwrap();
        let mut serve = Command::new(Part::Crane.path());
        serve.args(["registry", "serve", "--address=127.0.0.1:0"]);
        let process = Process::start("crane", no_credentials.path(), &mut serve);
        let port = wait::for_ok(PATIENCE, "the registry's port", || {
            let log = process.log();
            let port = log
                .split_once("serving on port ")
                .and_then(|(_, rest)| rest.split_once('\n'));
            port.map(|(port, _)| port.to_owned()).ok_or("not in the log yet")
        });
        Self {
            address: format!("127.0.0.1:{port}"),
            _process: process,
            no_credentials,
        }
    }

    /// Pushes an image of `target/image`, and returns the hexadecimal digits of its digest.
    pub(crate) fn push(&self, layout: &str, repository: &str) -> String {
        let layout = image(layout);
        let tag = format!("{}/{repository}:{TAG}", self.address);
        let pushed = self.crane(&["push", layout.to_str().unwrap(), &tag]);
        let (_, digest) = pushed.trim_end().split_once("@sha256:").expect("a name with a digest");
        digest.to_owned()
    }

    /// Returns a manifest.
    pub(crate) fn manifest(&self, name: &str) -> String {
        self.crane(&["manifest", &format!("{}/{name}", self.address)])
    }

    /// Returns the module that a proxy would load for a WasmPlugin with this `url`, relative to the registry, and this `sha256`.
    pub(crate) fn fetch(&self, name: &str, sha256: Option<&str>) -> Result<Vec<u8>, String> {
        let cache = tempfile::tempdir().unwrap();
        let url = format!("oci://{}/{name}", self.address);
        let output = self.run(Command::new(wasm_fetch()).arg(cache.path()).arg(url).args(sha256));
        if output.status.success() {
            let path = text(output.stdout);
            Ok(fs::read(path.trim_end()).unwrap())
        } else {
            Err(text(output.stderr))
        }
    }

    /// Runs `make push` for a filter of a bundle, with only these programs on PATH. Returns the image's name and digest as
    /// `make deploy` expects them.
    pub(crate) fn push_bundle(&self, bundle: &Path, filter: &str, programs: &Path) -> String {
        let mut make = Command::new(programs.join("make"));
        make.env_clear()
            .env("PATH", programs)
            .env("HOME", self.no_credentials.path());
        make.args(["--silent", "--directory"]).arg(repository()).arg("push");
        make.arg(format!("BUNDLE={}", bundle.display()))
            .arg(format!("FILTER={filter}"));
        let output = self.run(make.arg(format!("IMAGE={}/{filter}:{TAG}", self.address)));
        let complaint = text(output.stderr);
        assert!(output.status.success(), "{complaint}");
        text(output.stdout)
    }

    fn crane(&self, arguments: &[&str]) -> String {
        let output = self.run(Command::new(Part::Crane.path()).args(arguments));
        let complaint = text(output.stderr);
        assert!(output.status.success(), "crane {arguments:?}: {complaint}");
        text(output.stdout)
    }

    fn run(&self, command: &mut Command) -> Output {
        let output = command.env("DOCKER_CONFIG", self.no_credentials.path()).output();
        output.unwrap_or_else(|error| panic!("{command:?}: {error}"))
    }
}

/// Returns the path of the program with which Istio's agent fetches a module.
fn wasm_fetch() -> String {
    let setup = repository().join("setup/wasm-fetch");
    let program = text(Command::new(setup).arg("--where").output().unwrap().stdout);
    let program = program.trim_end();
    assert!(
        Path::new(program).exists(),
        "{program} is missing: run `make setup`, or setup/wasm-fetch"
    );
    program.to_owned()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("output that is text")
}
