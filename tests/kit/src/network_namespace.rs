//! A network of one's own, for a program that listens on every address of its machine and cannot be told otherwise.

use std::{
    env,
    process::{Command, Stdio},
};

/// Says that the test is already there.
const INSIDE: &str = "BURST_NETWORK_NAMESPACE";

/// Runs the story of a test in a new network namespace, which has nothing but a loopback: the test's own program is
/// started there again, for this one test.
///
/// # Panics
/// When the story does, or there can be no namespace.
#[track_caller]
pub fn alone(test: &str, story: impl FnOnce()) {
    if env::var_os(INSIDE).is_some() {
        return story();
    }
    let program = env::current_exe().expect("the test's own program");
    let status = Command::new("unshare")
        .args([
            "--map-root-user",
            "--net",
            "sh",
            "-c",
            "ip link set lo up && exec \"$@\"",
            "sh",
        ])
        .arg(program)
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "yes")
        .stdin(Stdio::null())
        .status()
        .expect("unshare, of util-linux, and ip, of iproute2");
    assert!(status.success(), "in its own network namespace: {status}");
}
