//! A network namespace for one test, for a program that always listens on every address of its machine.

use std::{
    env,
    process::{Command, Stdio},
};

/// Set where the test already runs in its namespace.
const INSIDE: &str = "BURST_NETWORK_NAMESPACE";

/// Runs the body of a test in a new network namespace, which only has a loopback interface: the test binary is started there
/// again, for this one test.
///
/// # Panics
/// When the body panics, or a namespace cannot be made.
#[track_caller]
pub fn run(test: &str, story: impl FnOnce()) {
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
