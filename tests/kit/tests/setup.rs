//! The scripts of `setup/` where they cannot do what they are for. A program of the test stands in for Go.

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
kill -TERM $PPID
n=0 m=0
while [ $m -lt 3000 ]; do
    n=$((n + 1))
    echo >"$folder/$n"
    [ -z "${ending:-}" ] || m=$((m + 1))
done
"#;

fn tools(words: &[&str], bin: &Path, cache: &Path) -> Output {
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(repository().join("setup/tools"));
    command.args(words).env_remove("BURST_CRANE").env("PATH", path);
    command.env("BURST_CACHE", cache).output().unwrap()
}

#[test]
fn a_build_that_is_ended_leaves_nothing_in_the_cache() {
    let (bin, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // By a shell: a file that another thread's fork holds open for writing cannot be executed.
    let written = Command::new("sh")
        .args(["-c", r#"printf %s "$1" >"$0" && chmod +x "$0""#])
        .arg(bin.path().join("go"))
        .arg(ENDED)
        .status();
    assert!(written.unwrap().success());
    let output = tools(&["crane"], bin.path(), cache.path());
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let left: Vec<_> = fs::read_dir(cache.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}: {output:?}");
}

#[test]
fn a_tool_that_there_is_none_of_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let output = tools(&["cran"], folder.path(), folder.path());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("there is no tool `cran`"), "{said}");
}
