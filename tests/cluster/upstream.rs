//! Something behind the proxy that answers: a server that says 200 to everything.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
};

/// Starts it; it ends with the test's process.
pub(crate) fn start() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            // A proxy that goes away in the middle of a request is no reason to end, nor one that sends none yet to wait.
            thread::spawn(move || drop(answer(connection)));
        }
    });
    address
}

fn answer(mut connection: TcpStream) -> std::io::Result<()> {
    let mut lines = BufReader::new(connection.try_clone()?).lines();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}
