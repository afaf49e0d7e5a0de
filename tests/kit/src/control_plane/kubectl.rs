//! kubectl as the administrator of one control plane.

use std::{
    ffi::OsStr,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use crate::part::Part;

/// kubectl with its kubeconfig.
#[derive(Debug)]
pub(super) struct Kubectl {
    kubeconfig: PathBuf,
    cache: PathBuf,
}

impl Kubectl {
    pub(super) fn new(kubeconfig: &Path, folder: &Path) -> Self {
        Self {
            kubeconfig: kubeconfig.to_owned(),
            cache: folder.join("kubectl-cache"),
        }
    }

    pub(super) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// kubectl with its connection flags, to which the caller adds a command.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(Part::Kubectl.path());
        command
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .arg("--cache-dir")
            .arg(&self.cache);
        command
    }

    /// Runs kubectl to its end; `input` is what it reads from standard input.
    pub(super) fn run<A: AsRef<OsStr>>(&self, arguments: &[A], input: &str) -> Output {
        let mut child = self
            .command()
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl starts");
        // A kubectl that does not read its input may be gone before we have written it.
        drop(child.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes())));
        child.wait_with_output().expect("kubectl ends")
    }
}

/// Its output as text.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
