//! The upstream of the proxy.

use std::{net::SocketAddr, sync::Arc, thread, time::Duration};

use tokio::{
    io::{self, AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    runtime::Builder,
    time::sleep,
};

use crate::requests::RequestKind;

/// The pause between two parts of a response. The proxy has passed on the first one by then.
const PAUSE: Duration = Duration::from_millis(1);

/// A request, known by its start and end, and the response to it.
struct CannedResponse {
    request_start: &'static [u8],
    request_end: Vec<u8>,
    /// In parts.
    response: Vec<Vec<u8>>,
}

impl CannedResponse {
    fn all() -> Arc<[Self]> {
        let canned = |kind: RequestKind| {
            let (request_start, request_end) = kind.request_ends();
            Self {
                request_start,
                request_end,
                response: kind.response(),
            }
        };
        RequestKind::ALL.map(canned).into()
    }

    fn answers(&self, request: &[u8]) -> bool {
        request.starts_with(self.request_start) && request.ends_with(&self.request_end)
    }
}

/// Starts the upstream on its own thread, so that requests that arrive together are answered together. It ends with
/// the process.
pub(crate) fn start() -> SocketAddr {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || runtime.block_on(serve(listener)));
    address
}

async fn serve(listener: TcpListener) {
    let responses = CannedResponse::all();
    while let Ok((connection, _)) = listener.accept().await {
        tokio::spawn(answer(connection, responses.clone()));
    }
}

async fn answer(mut connection: TcpStream, responses: Arc<[CannedResponse]>) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut request = Vec::new();
    while connection.read_buf(&mut request).await? > 0 {
        // The last kind is the most specific.
        let Some(canned) = responses.iter().rfind(|canned| canned.answers(&request)) else {
            continue;
        };
        for (index, part) in canned.response.iter().enumerate() {
            if index > 0 {
                sleep(PAUSE).await;
            }
            connection.write_all(part).await?;
        }
        request.clear();
    }
    Ok(())
}
