//! What stands behind the proxy.

use std::net::SocketAddr;

use tokio::{
    io::{self, AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// The body of every answer, by which its end is known.
pub(crate) const BODY: &str = "this is the answer\n";

/// Starts it; it ends with the runtime.
pub(crate) async fn start() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            tokio::spawn(answer(connection));
        }
    });
    address
}

async fn answer(mut connection: TcpStream) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n{BODY}",
        BODY.len()
    );
    let mut request = Vec::new();
    while connection.read_buf(&mut request).await? > 0 {
        if request.ends_with(b"\r\n\r\n") {
            connection.write_all(answer.as_bytes()).await?;
            request.clear();
        }
    }
    Ok(())
}
