//! Somebody who is asked whether users may, and says what he is told to; each question is kept.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A server of SubjectAccessReviews; it ends with the test's process.
#[derive(Debug)]
pub struct Judge {
    bench: Arc<Mutex<Bench>>,
    address: std::net::SocketAddr,
    folder: TempDir,
}

/// What it says, and what it was asked.
#[derive(Debug)]
struct Bench {
    code: u16,
    status: Value,
    asked: Vec<Value>,
}

impl Judge {
    /// Listens on a free port, and allows everything.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let bench = Bench {
            code: 201,
            status: json!({"allowed": true}),
            asked: Vec::new(),
        };
        let bench = Arc::new(Mutex::new(bench));
        let shared = bench.clone();
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let bench = shared.clone();
                thread::spawn(move || drop(answer(connection, &bench)));
            }
        });
        Self {
            bench,
            address,
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    /// A kubeconfig that leads here.
    pub fn kubeconfig(&self) -> PathBuf {
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "judge",
            "clusters": [{"name": "judge", "cluster": {"server": format!("http://{}", self.address)}}],
            "users": [{"name": "asker", "user": {}}],
            "contexts": [{"name": "judge", "context": {"cluster": "judge", "user": "asker"}}],
        });
        let path = self.folder.path().join("judge.kubeconfig");
        fs::write(&path, config.to_string()).expect("a file");
        path
    }

    /// From now on says that, with that status code.
    pub fn say(&self, code: u16, status: Value) {
        let mut bench = self.bench.lock().expect("a judge");
        (bench.code, bench.status) = (code, status);
    }

    /// The `spec` of each question since the last time.
    pub fn asked(&self) -> Vec<Value> {
        std::mem::take(&mut self.bench.lock().expect("a judge").asked)
    }
}

fn answer(connection: TcpStream, bench: &Mutex<Bench>) -> std::io::Result<()> {
    let mut reader = BufReader::new(connection);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let line = line.trim().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let mut review: Value = serde_json::from_slice(&body).expect("JSON");
        let code = {
            let mut bench = bench.lock().expect("a judge");
            bench.asked.push(review["spec"].take());
            review["status"] = bench.status.clone();
            bench.code
        };
        let body = review.to_string();
        write!(
            reader.get_mut(),
            "HTTP/1.1 {code} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )?;
    }
}
