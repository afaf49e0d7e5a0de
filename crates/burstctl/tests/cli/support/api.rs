//! An API server that a test scripts.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use serde_json::Value;

/// Returns the status and the body for a path.
pub(crate) type Answers = fn(path: &str) -> (u16, Value);

/// Starts a server and returns its URL. The server runs until the test ends.
pub(crate) fn serve(answers: Answers) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A command may disconnect before it has read the whole response.
            thread::spawn(move || drop(answer(&stream, answers)));
        }
    });
    server
}

/// Responds to every request of a connection.
fn answer(mut stream: &TcpStream, answers: Answers) -> io::Result<()> {
    let mut requests = BufReader::new(stream);
    loop {
        let (mut path, mut length, mut line) = (String::new(), 0, String::new());
        while requests.read_line(&mut line)? > 2 {
            if path.is_empty() {
                path = line.split(' ').nth(1).unwrap_or_default().to_owned();
            }
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            line.clear();
        }
        if path.is_empty() {
            return Ok(());
        }
        requests.read_exact(&mut vec![0; length])?;
        let (status, body) = answers(&path);
        let body = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
        let length = body.len();
        let head = format!("HTTP/1.1 {status} x\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all(format!("{head}{body}").as_bytes())?;
    }
}
