//! What is said of a cluster that answers and does not serve, and how soon.
#![cfg(feature = "live")]

#[path = "common/server.rs"]
mod server;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use burst_testkit::wait;
use server::kubeconfig;
use tempfile::TempDir;

const SOON: Duration = Duration::from_secs(120);

const BUSY: &str = "503 Service Unavailable\r\nretry-after: 3600";

/// A folder with the kubeconfig of a cluster.
struct Cluster(TempDir);

impl Cluster {
    /// It answers every request with that status, and with what stands behind it in the head.
    fn that_says(head: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || listener.incoming().flatten().for_each(|stream| answer(stream, head)));
        Self(kubeconfig(&server))
    }

    /// What a command says, and how it ends.
    fn tells(&self, words: &[&str]) -> (String, Option<i32>) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_burstctl"));
        command.args(words).env("KUBECONFIG", self.0.path().join("kubeconfig"));
        let mut running = Running(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        let child = &mut running.0;
        wait::until(SOON, &format!("the end of {words:?}"), || {
            child.try_wait().unwrap().is_some()
        });
        let mut told = String::new();
        child.stdout.take().unwrap().read_to_string(&mut told).unwrap();
        child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
        (told, child.wait().unwrap().code())
    }
}

/// Ended with the test, whatever becomes of that.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Whoever hangs up meanwhile asks anew.
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
fn a_cluster_that_asks_for_patience_is_told_of_at_once() {
    let cluster = Cluster::that_says(BUSY);
    for words in [
        &["preview"][..],
        &["doctor"],
        &["policy", "check"],
        &["hpa", "explain", "--context", "", "shop/web"],
    ] {
        let (told, code) = cluster.tells(words);
        assert_eq!(code, Some(2), "{words:?}: {told}");
        assert!(told.contains("503") || told.contains("not now"), "{words:?}: {told}");
    }
}

#[test]
fn a_doctor_without_credentials_is_told_to_log_in() {
    let (told, code) = Cluster::that_says("401 Unauthorized").tells(&["doctor"]);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("401 Unauthorized for /version"), "{told}");
    assert!(told.contains("what to do: log in again"), "{told}");
}

#[test]
fn a_doctor_who_may_not_see_the_version_looks_at_the_rest() {
    let (told, code) = Cluster::that_says("403 Forbidden").tells(&["doctor"]);
    assert_eq!(code, Some(2), "{told}");
    assert!(
        told.contains("what to do: your user needs the verb get on /version"),
        "{told}"
    );
    assert!(told.contains("unknown  pods "), "{told}");
}

#[test]
fn a_configuration_that_is_not_there_is_said_once() {
    let cluster = Cluster::that_says(BUSY);
    for command in ["preview", "proxy"] {
        let (told, code) = cluster.tells(&[command, "--config", "not-there.yaml"]);
        assert_eq!(
            told,
            "burstctl: not-there.yaml: No such file or directory (os error 2)\n"
        );
        assert_eq!(code, Some(2));
    }
}
