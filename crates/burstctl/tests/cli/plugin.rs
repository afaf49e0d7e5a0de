//! burstctl as a plugin of the real kubectl, installed from the krew manifest as krew does.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use burst_testkit::Part;
use burstctl::yaml::documents;
use serde_json::Value;

/// Runs kubectl with the plugins of a folder.
fn kubectl(plugins: &Path, args: &[&str]) -> (String, String) {
    let output = Command::new(Part::Kubectl.path())
        .args(args)
        .env("PATH", plugins)
        .env("KUBECONFIG", "/dev/null")
        .output()
        .unwrap();
    texts(&output)
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let (out, messages) = texts(&output);
    assert!(output.status.success(), "{command:?}: {messages}");
    out
}

fn text<'a>(manifest: &'a Value, pointer: &str) -> &'a str {
    let value = manifest.pointer(pointer).and_then(Value::as_str);
    value.unwrap_or_else(|| panic!("{pointer} in {manifest}"))
}

/// Packs the binary and installs it: each file of the manifest at its place, and a link to `bin` that has the plugin's name.
/// Returns the folder of the link.
fn install(folder: &Path) -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("krew/package");
    let (uri, dist) = ("https://example.com/kubectl-burst.tar.gz", folder.join("dist"));
    succeed(
        Command::new(package)
            .args([env!("CARGO_BIN_EXE_burstctl"), uri])
            .arg(&dist),
    );
    let manifest = fs::read_to_string(dist.join("burst.yaml")).unwrap();
    let manifest = documents(&manifest).remove(0).content.unwrap().to_json();
    let archive = dist.join("kubectl-burst.tar.gz");
    let platform = "/spec/platforms/0";
    assert_eq!(
        text(&manifest, "/spec/version"),
        concat!("v", env!("CARGO_PKG_VERSION"))
    );
    assert_eq!(text(&manifest, &format!("{platform}/uri")), uri);
    let sum = succeed(Command::new("sha256sum").arg(&archive));
    assert_eq!(
        text(&manifest, &format!("{platform}/sha256")),
        sum.split(' ').next().unwrap()
    );
    let labels = format!("{platform}/selector/matchLabels");
    let here = (std::env::consts::OS, std::env::consts::ARCH);
    let of_go = match here {
        (os, "x86_64") => (os, "amd64"),
        (os, "aarch64") => (os, "arm64"),
        other => other,
    };
    assert_eq!(
        (
            text(&manifest, &format!("{labels}/os")),
            text(&manifest, &format!("{labels}/arch"))
        ),
        of_go
    );

    let (unpacked, store, plugins) = (folder.join("unpacked"), folder.join("store"), folder.join("bin"));
    for created in [&unpacked, &store, &plugins] {
        fs::create_dir(created).unwrap();
    }
    succeed(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&unpacked));
    for file in manifest
        .pointer(&format!("{platform}/files"))
        .unwrap()
        .as_array()
        .unwrap()
    {
        let (from, to) = (text(file, "/from"), text(file, "/to"));
        let to = if to == "." { from } else { to };
        fs::rename(unpacked.join(from), store.join(to)).unwrap();
    }
    let bin = store.join(text(&manifest, &format!("{platform}/bin")));
    symlink(
        bin,
        plugins.join(format!("kubectl-{}", text(&manifest, "/metadata/name"))),
    )
    .unwrap();
    plugins
}

#[test]
fn kubectl_runs_the_plugin_that_the_krew_manifest_installs() {
    let folder = tempfile::tempdir().unwrap();
    let plugins = install(folder.path());

    let (listed, warnings) = kubectl(&plugins, &["plugin", "list"]);
    assert!(
        listed.contains("/kubectl-burst\n") && warnings.is_empty(),
        "{listed}{warnings}"
    );
    let (version, _) = kubectl(&plugins, &["burst", "version", "-o", "json"]);
    assert!(
        version.starts_with(concat!("{\"burstctl\":\"", env!("CARGO_PKG_VERSION"), "\"")),
        "{version}"
    );

    let (help, _) = kubectl(&plugins, &["burst", "hpa", "lint", "--help"]);
    assert!(help.contains("\nUsage: kubectl burst hpa lint "), "{help}");
    assert!(help.contains("\n  kubectl burst hpa lint manifests/\n"), "{help}");
    assert!(!help.contains("burstctl"), "{help}");
    let (_, refusal) = kubectl(&plugins, &["burst", "previw"]);
    assert!(refusal.contains("\nUsage: kubectl burst "), "{refusal}");
}
