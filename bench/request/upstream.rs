//! What stands behind the proxy.

use std::{net::SocketAddr, sync::Arc, thread};

use tokio::{
    io::{self, AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    runtime::Builder,
};

use crate::traffic::Traffic;

/// A kind of request, and the answer to it.
struct Known {
    begins: &'static [u8],
    ends: Vec<u8>,
    answer: Vec<u8>,
}

impl Known {
    fn all() -> Arc<[Self]> {
        let known = |traffic: Traffic| {
            let (begins, ends) = traffic.frame();
            let answer = traffic.answer();
            Self { begins, ends, answer }
        };
        Traffic::ALL.map(known).into()
    }

    fn is(&self, request: &[u8]) -> bool {
        request.starts_with(self.begins) && request.ends_with(&self.ends)
    }
}

/// Starts it, on a thread of its own, so that requests that come together are answered together; it ends with the
/// process.
pub(crate) fn start() -> SocketAddr {
    let runtime = Builder::new_current_thread().enable_io().build().expect("a runtime");
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || runtime.block_on(serve(listener)));
    address
}

async fn serve(listener: TcpListener) {
    let known = Known::all();
    while let Ok((connection, _)) = listener.accept().await {
        tokio::spawn(answer(connection, known.clone()));
    }
}

async fn answer(mut connection: TcpStream, known: Arc<[Known]>) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut request = Vec::new();
    while connection.read_buf(&mut request).await? > 0 {
        if let Some(known) = known.iter().find(|known| known.is(&request)) {
            connection.write_all(&known.answer).await?;
            request.clear();
        }
    }
    Ok(())
}
