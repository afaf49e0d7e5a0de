//! What the scripts of the sets clean up when they are interrupted. No cluster is needed.

use std::{
    fs,
    process::{Command, Output},
};

use burst_testkit::repository;
use burstctl::yaml;
use tempfile::TempDir;

/// A folder to run a script in, one for its temporary files, and programs in place of those that it calls.
struct Scene(TempDir);

impl Scene {
    fn new(openssl: &str) -> Self {
        let scene = tempfile::tempdir().expect("a temporary folder");
        for folder in ["bin", "here", "temporary"] {
            fs::create_dir(scene.path().join(folder)).expect("a folder");
        }
        for (name, script) in [("openssl", openssl), ("kubectl", "exit 1")] {
            // By a shell: a file that another thread's fork holds open for writing cannot be executed.
            let written = Command::new("sh")
                .args(["-c", r#"printf '#!/bin/sh\n%s\n' "$1" >"$0" && chmod +x "$0""#])
                .arg(scene.path().join("bin").join(name))
                .arg(script)
                .status();
            assert!(written.expect("a shell").success());
        }
        Self(scene)
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
fn a_script_that_has_no_temporary_folder_leaves_that_of_its_caller_alone() {
    let scene = Scene::new("exit 1");
    let kept = scene.0.path().join("here/kept");
    fs::write(&kept, "").expect("a file");
    let output = scene.run("certificate.sh", "not-there");
    assert!(!output.status.success() && kept.is_file(), "{output:?}");
}

#[test]
fn an_interrupted_script_leaves_no_key_behind() {
    for signal in ["INT", "TERM", "HUP"] {
        let scene = Scene::new(&format!("echo secret >ca.key\nkill -{signal} $PPID"));
        let output = scene.run("certificate.sh", "temporary");
        assert!(!output.status.success(), "{output:?}");
        assert!(
            scene.is_empty("temporary") && scene.is_empty("here"),
            "{signal}: {output:?}"
        );
    }
}

#[test]
fn a_hanging_copy_gives_way_to_the_next_one() {
    let text = fs::read_to_string(repository().join("istio/metrics-apis/copy-ca.yaml")).expect("a file");
    let objects = yaml::documents(&text).into_iter().map(|document| document.content);
    let job = objects
        .map(|object| object.expect("YAML").to_json())
        .find(|object| object["kind"] == "CronJob")
        .expect("a CronJob");
    let deadline = job["spec"]["jobTemplate"]["spec"]["activeDeadlineSeconds"].as_u64();
    // It runs every ten minutes.
    assert!(deadline.is_some_and(|seconds| seconds < 600), "{deadline:?}");
}
