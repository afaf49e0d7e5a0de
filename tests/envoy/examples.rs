//! Every Envoy configuration that is shipped is one that Envoy takes, with the filter's own configuration in it.

use std::fs;
use std::path::{Path, PathBuf};

use burst_testkit::{Refused, Version, repository, validate, wasm};
use tempfile::TempDir;

on_each_envoy!(every_bootstrap_that_is_shipped_is_valid);

/// How a file says in its first line that an older Envoy does not take it.
const NEEDS_NEWER: &str = "# Needs Envoy 1.";

/// Where a pod has the token and the CA of its ServiceAccount.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

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

/// The files of a folder as they would be in a pod with a checkout: the module where the build puts it, and a
/// ServiceAccount.
fn installed(folder: &str) -> (TempDir, Vec<PathBuf>) {
    let pod = tempfile::tempdir().expect("a folder");
    let account = pod.path().join("serviceaccount");
    fs::create_dir(&account).expect("a folder");
    let ca = rcgen::generate_simple_self_signed(["kubernetes.default.svc".to_owned()]).expect("a certificate");
    fs::write(account.join("ca.crt"), ca.cert.pem()).expect("a file");
    fs::write(account.join("token"), "a token").expect("a file");
    let module = wasm("burst-metrics.wasm");
    let modules = module.parent().expect("a folder").display().to_string();
    let files = yaml_files(folder).into_iter().map(|file| {
        let text = fs::read_to_string(&file).expect("a text");
        let text = text
            .replace("target/wasm", &modules)
            .replace(SERVICE_ACCOUNT, &account.display().to_string())
            .replace(&format!("{folder}/"), &format!("{}/", pod.path().display()));
        let copy = pod.path().join(name(&file));
        fs::write(&copy, text).expect("a file");
        copy
    });
    let files = files.collect();
    (pod, files)
}

/// Whether a file is a whole bootstrap, and not a part that one of them names.
fn is_bootstrap(text: &str) -> bool {
    text.lines().any(|line| line == "static_resources:")
}

/// The minor number of the first Envoy that takes a file.
fn oldest(text: &str) -> u32 {
    let needed = text.strip_prefix(NEEDS_NEWER).and_then(|rest| rest.split('.').next());
    needed.map_or(0, |minor| minor.parse().expect("a number"))
}

fn every_bootstrap_that_is_shipped_is_valid(version: Version) {
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
