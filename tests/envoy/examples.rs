//! Envoy accepts every shipped bootstrap, including the filter's configuration.

use std::fs;
use std::path::{Path, PathBuf};

use burst_testkit::{Authority, Refused, Version, repository, validate, wasm};
use tempfile::TempDir;

on_each_envoy!(every_shipped_bootstrap_is_valid);

/// The first line of a file that an older Envoy does not accept.
const NEEDS_NEWER: &str = "# Needs Envoy 1.";

/// The paths in a pod of the ServiceAccount's token and CA, and of the certificates for the metrics APIs.
const MOUNTS: [&str; 5] = [
    "/var/run/secrets/kubernetes.io/serviceaccount",
    "/etc/burst-metrics",
    "/etc/metrics-apis",
    "/etc/request-header-ca",
    "/etc/other-adapter",
];

fn yaml_files(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(repository().join(folder)).expect("the folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
        .collect();
    files.sort();
    files
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).expect("a name")
}

/// The files of a directory as a pod with a checkout has them. The module is where the build puts it, and all mounts
/// are in one directory.
fn installed(folder: &str) -> (TempDir, Vec<PathBuf>) {
    let pod = tempfile::tempdir().expect("a folder");
    let mount = pod.path().join("mount");
    fs::create_dir(&mount).expect("a folder");
    let ca = Authority::new("ca");
    let server = ca.server("server", &["burst-metrics-apis.istio-system.svc"]);
    for (file, content) in [
        ("ca.crt", ca.pem().as_str()),
        ("token", "a token"),
        ("tls.crt", &server.certificate),
        ("tls.key", &server.key),
    ] {
        fs::write(mount.join(file), content).expect("a file");
    }
    let module = wasm("burst-metrics.wasm");
    let modules = module.parent().expect("a folder").display().to_string();
    let files = yaml_files(folder).into_iter().map(|file| {
        let text = fs::read_to_string(&file).expect("a text");
        let text = text
            .replace("target/wasm", &modules)
            .replace(&format!("{folder}/"), &format!("{}/", pod.path().display()));
        let mounted = |text: String, place: &&str| text.replace(place, &mount.display().to_string());
        let text = MOUNTS.iter().fold(text, mounted);
        let copy = pod.path().join(name(&file));
        fs::write(&copy, text).expect("a file");
        copy
    });
    let files = files.collect();
    (pod, files)
}

/// Whether a file is a whole bootstrap, and not a file that a bootstrap includes.
fn is_bootstrap(text: &str) -> bool {
    text.lines().any(|line| line == "static_resources:")
}

/// The minor version of the oldest Envoy that accepts a file.
fn oldest(text: &str) -> u32 {
    let needed = text.strip_prefix(NEEDS_NEWER).and_then(|rest| rest.split('.').next());
    needed.map_or(0, |minor| minor.parse().expect("a number"))
}

fn every_shipped_bootstrap_is_valid(version: Version) {
    for folder in ["filter-config", "envoy-local"] {
        let (_pod, files) = installed(folder);
        let texts: Vec<_> = files
            .iter()
            .map(|file| fs::read_to_string(file).expect("a text"))
            .collect();
        let (bootstraps, parts): (Vec<_>, Vec<_>) = files.iter().zip(&texts).partition(|(_, text)| is_bootstrap(text));
        assert!(!bootstraps.is_empty(), "{folder} has no bootstrap");
        for (part, _) in parts {
            let named = bootstraps
                .iter()
                .any(|(_, text)| text.contains(&part.display().to_string()));
            assert!(
                named || name(part).contains("compose"),
                "{}: no bootstrap names it",
                part.display()
            );
        }
        for (bootstrap, text) in bootstraps {
            let expected = version.minor() >= oldest(text);
            let found = validate(version, bootstrap);
            let Refused(why) = found.clone().err().unwrap_or(Refused(String::new()));
            assert_eq!(found.is_ok(), expected, "{folder}/{}: {why}", name(bootstrap));
        }
    }
}
