//! How the scripts of the sets clean up when they are interrupted. These tests need no cluster.

use std::{
    fs,
    process::{Command, Output},
};

use burst_testkit::repository;
use burstctl::yaml;
use tempfile::TempDir;

/// A directory to run a script in, one for its temporary files, and fakes of the programs that it calls.
struct ScriptSandbox(TempDir);

impl ScriptSandbox {
    fn new(openssl: &str) -> Self {
        let sandbox = tempfile::tempdir().expect("a temporary folder");
        for folder in ["bin", "here", "temporary"] {
            fs::create_dir(sandbox.path().join(folder)).expect("a folder");
        }
        for (name, script) in [("openssl", openssl), ("kubectl", "exit 1")] {
            // A shell writes the file: a file that is open for writing in another thread's fork cannot be executed.
            let written = Command::new("sh")
                .args(["-c", r#"printf '#!/bin/sh\n%s\n' "$1" >"$0" && chmod +x "$0""#])
                .arg(sandbox.path().join("bin").join(name))
                .arg(script)
                .status();
            assert!(written.expect("a shell").success());
        }
        Self(sandbox)
    }

    fn run(&self, script: &str, temporary: &str) -> Output {
        let path = std::env::var("PATH").expect("PATH");
        Command::new(repository().join("istio/metrics-apis").join(script))
            .env("PATH", format!("{}:{path}", self.0.path().join("bin").display()))
            .env("TMPDIR", self.0.path().join(temporary))
            .current_dir(self.0.path().join("here"))
            .output()
            .expect("a script that starts")
    }

    fn is_empty(&self, folder: &str) -> bool {
        let mut entries = fs::read_dir(self.0.path().join(folder)).expect("a folder that is there");
        entries.next().is_none()
    }
}

#[test]
fn a_script_without_a_temporary_folder_changes_nothing_in_its_callers() {
    let sandbox = ScriptSandbox::new("exit 1");
    let kept = sandbox.0.path().join("here/kept");
    fs::write(&kept, "").expect("a file");
    let output = sandbox.run("certificate.sh", "not-there");
    assert!(!output.status.success() && kept.is_file(), "{output:?}");
}

#[test]
fn an_interrupted_script_leaves_no_key_behind() {
    for signal in ["INT", "TERM", "HUP"] {
        let sandbox = ScriptSandbox::new(&format!("echo secret >ca.key\nkill -{signal} $PPID"));
        let output = sandbox.run("certificate.sh", "temporary");
        assert!(!output.status.success(), "{output:?}");
        assert!(
            sandbox.is_empty("temporary") && sandbox.is_empty("here"),
            "{signal}: {output:?}"
        );
    }
}

#[test]
fn a_hanging_copy_ends_before_the_next_one_starts() {
    let text = fs::read_to_string(repository().join("istio/metrics-apis/copy-ca.yaml")).expect("a file");
    let objects = yaml::documents(&text).into_iter().map(|document| document.content);
    let job = objects
        .map(|object| object.expect("YAML").to_json())
        .find(|object| object["kind"] == "CronJob")
        .expect("a CronJob");
    let deadline = job["spec"]["jobTemplate"]["spec"]["activeDeadlineSeconds"].as_u64();
    // The copy runs every ten minutes.
    assert!(deadline.is_some_and(|seconds| seconds < 600), "{deadline:?}");
}
