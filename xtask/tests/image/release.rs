//! A release pushes images that another job built: `make push` with a bundle needs no compiler.

use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

use burst_testkit::{Part, image};

use crate::{FILTERS, registry::Registry};

/// The programs of a machine without build tools.
const PROGRAMS: [&str; 12] = [
    "bash", "basename", "cat", "dirname", "env", "expand", "make", "mkdir", "mktemp", "rm", "sed", "tar",
];

/// Writes a bundle as `make bundle` does, of the existing images.
fn bundle(folder: &Path) {
    let image = image("burst-metrics");
    let images = image.parent().unwrap();
    fs::copy(Part::Crane.path(), folder.join("crane")).unwrap();
    let mut tar = Command::new("tar");
    tar.arg("--create").arg("--file").arg(folder.join("bundle.tar"));
    tar.arg("--directory").arg(images.parent().unwrap()).arg("image");
    tar.arg("--directory").arg(folder).arg("crane");
    assert!(tar.status().unwrap().success());
}

fn link_programs(folder: &Path) {
    let path = std::env::var_os("PATH").unwrap();
    for program in PROGRAMS {
        let found = std::env::split_paths(&path)
            .map(|folder| folder.join(program))
            .find(|file| file.exists());
        symlink(found.expect(program), folder.join(program)).unwrap();
    }
}

#[test]
fn a_bundle_is_pushed_without_cargo_rustc_or_go() {
    let (folder, programs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    bundle(folder.path());
    link_programs(programs.path());
    let registry = Registry::start();
    for filter in FILTERS {
        let printed = registry.push_bundle(&folder.path().join("bundle.tar"), filter, programs.path());
        let digest = registry.push(filter, "expected");
        assert!(
            printed.trim_end().ends_with(&format!("DIGEST=sha256:{digest}")),
            "{printed}"
        );
        assert!(
            registry.manifest(&format!("{filter}:1-sbom")).contains("cyclonedx"),
            "no bill of materials"
        );
    }
}
