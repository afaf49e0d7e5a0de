//! Commands with a cluster that responds to every request with an error: what they report, and how soon.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::support::kubeconfig::kubeconfig;
use burst_testkit::{port, wait};
use serde_json::json;
use tempfile::TempDir;

const SOON: Duration = Duration::from_secs(120);

const BUSY: &str = "503 Service Unavailable\r\nretry-after: 3600";

/// A fake cluster, and a folder with its kubeconfig.
struct Cluster(TempDir);

impl Cluster {
    /// Starts a cluster that responds to every request with `head`: the status, and any headers.
    fn responding(head: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || listener.incoming().flatten().for_each(|stream| answer(stream, head)));
        Self(kubeconfig(&server))
    }

    /// Returns the output and the exit code of a command.
    fn run(&self, args: &[&str]) -> (String, Option<i32>) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_burstctl"));
        command.args(args).env("KUBECONFIG", self.0.path().join("kubeconfig"));
        let mut running = Running(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        let child = &mut running.0;
        wait::until(SOON, &format!("the end of {args:?}"), || {
            child.try_wait().unwrap().is_some()
        });
        let mut output = String::new();
        child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
        child.stderr.take().unwrap().read_to_string(&mut output).unwrap();
        (output, child.wait().unwrap().code())
    }
}

/// A child process. Dropping it kills the process, even if the test fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Responds to one request. It ignores a client that disconnects.
fn answer(mut stream: TcpStream, head: &str) {
    let body = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"not now"}"#;
    let length = body.len();
    let mut request = BufReader::new(stream.try_clone().unwrap()).lines();
    while request
        .next()
        .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
    {}
    let answer = format!(
        "HTTP/1.1 {head}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    drop(stream.write_all(answer.as_bytes()));
}

#[test]
fn a_retry_after_is_reported_at_once_and_not_waited_for() {
    let cluster = Cluster::responding(BUSY);
    for args in [
        &["preview"][..],
        &["doctor"],
        &["policy", "check"],
        &["hpa", "explain", "--context", "", "shop/web"],
        &["hpa", "lint", "-A"],
    ] {
        let (output, code) = cluster.run(args);
        assert_eq!(code, Some(2), "{args:?}: {output}");
        assert!(
            output.contains("503") || output.contains("not now"),
            "{args:?}: {output}"
        );
    }
}

/// The commands that read a cluster.
const READERS: [&[&str]; 6] = [
    &["preview"],
    &["doctor"],
    &["policy", "check"],
    &["hpa", "explain", "-n", "shop", "web"],
    &["hpa", "lint", "-A"],
    &["preview", "-n", "shop"],
];

#[test]
fn an_api_that_cannot_be_reached_is_reported_in_one_line() {
    let server = format!("http://127.0.0.1:{}", port::free());
    let cluster = Cluster(kubeconfig(&server));
    for args in READERS {
        let (output, code) = cluster.run(args);
        assert_eq!(code, Some(2), "{args:?}: {output}");
        let expected = format!(
            "burstctl: cannot reach {server}: Connection refused (os error 111); check the server of the context, and \
             that this machine can reach it\n"
        );
        assert_eq!(output, expected, "{args:?}");
    }
}

#[test]
fn a_namespace_that_does_not_exist_is_an_error() {
    let cluster = Cluster::responding("404 Not Found");
    for args in [
        &["preview", "-n", "shop"][..],
        &["hpa", "explain", "-n", "shop", "web"],
        &["hpa", "lint", "-n", "shop"],
    ] {
        let (output, code) = cluster.run(args);
        assert_eq!(code, Some(2), "{args:?}: {output}");
        assert!(
            output.starts_with("burstctl: namespace \"shop\" does not exist in the cluster at http://127.0.0.1:"),
            "{args:?}: {output}"
        );
        assert_eq!(output.lines().count(), 1, "{args:?}: {output}");
    }
}

#[test]
fn a_credential_plugin_that_is_not_installed_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kubeconfig");
    let exec = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-login", "interactiveMode": "Never",
        "installHint": "get it from the platform team",
    });
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "one",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"exec": exec}}],
        "contexts": [{"name": "one", "context": {"cluster": "c", "user": "u"}}],
    });
    std::fs::write(&file, config.to_string()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_burstctl"))
        .args(["preview", "--kubeconfig"])
        .arg(&file)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "burstctl: the kubeconfig gets its credentials from \"no-such-login\", which cannot be started: No such file or \
         directory (os error 2); get it from the platform team\n"
    );
}

#[test]
fn an_absent_kubeconfig_is_named() {
    let (output, code) = Cluster::responding(BUSY).run(&["preview", "--kubeconfig", "not-there"]);
    assert_eq!(code, Some(2), "{output}");
    assert!(output.contains("not-there") && output.lines().count() == 1, "{output}");
}

#[test]
fn doctor_advises_to_log_in_on_401() {
    let (output, code) = Cluster::responding("401 Unauthorized").run(&["doctor"]);
    assert_eq!(code, Some(2), "{output}");
    assert!(output.contains("401 Unauthorized for /version"), "{output}");
    assert!(output.contains("what to do: log in again"), "{output}");
}

#[test]
fn doctor_continues_if_the_version_is_forbidden() {
    let (output, code) = Cluster::responding("403 Forbidden").run(&["doctor"]);
    assert_eq!(code, Some(2), "{output}");
    assert!(
        output.contains("what to do: your user needs the verb get on /version"),
        "{output}"
    );
    assert!(output.contains("unknown  pods "), "{output}");
}

#[test]
fn a_missing_configuration_file_is_reported_once() {
    let cluster = Cluster::responding(BUSY);
    for command in ["preview", "proxy"] {
        let (output, code) = cluster.run(&[command, "--config", "not-there.yaml"]);
        assert_eq!(
            output,
            "burstctl: not-there.yaml: No such file or directory (os error 2)\n"
        );
        assert_eq!(code, Some(2));
    }
}
