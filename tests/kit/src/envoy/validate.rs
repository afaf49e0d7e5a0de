//! Envoy's own check of a configuration.

use std::{path::Path, process::Command};

use super::Version;

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
