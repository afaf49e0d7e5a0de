//! What stands behind the proxy: a server that answers with the head of the request as it came.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
};

/// Starts it; it ends with the test's process.
pub(super) fn start() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            // A proxy that goes away in the middle of a request is no reason to end.
            thread::spawn(move || drop(answer(connection)));
        }
    });
    address
}

fn answer(mut connection: TcpStream) -> std::io::Result<()> {
    let lines = BufReader::new(connection.try_clone()?).lines();
    let mut head = String::new();
    for line in lines {
        let line = line?;
        if line.is_empty() {
            break;
        }
        head += &format!("{line}\n");
    }
    let length = head.len();
    write!(
        connection,
        "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{head}"
    )
}
