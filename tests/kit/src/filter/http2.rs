//! A client of HTTP/2 that takes no byte of any body, as a window of 0 lets it.

use std::error::Error;
use std::net::SocketAddr;

use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use http::{HeaderMap, Request, Response, StatusCode};
use tokio::net::TcpStream;

use crate::http::RUNTIME;

/// Streams of a connection. Envoy allows more.
const STREAMS: usize = 500;

/// The answers to the same request, many times at once: Envoy keeps their bodies until this is dropped.
pub struct Stalled {
    answers: Vec<Response<h2::RecvStream>>,
    /// The connections live as long.
    _clients: Vec<SendRequest<Bytes>>,
}

impl Stalled {
    /// Asks for a path with these headers, and waits for the heads of the answers.
    ///
    /// # Panics
    /// When there are none.
    #[track_caller]
    pub fn get(address: SocketAddr, path: &str, headers: &[(&str, &str)], count: usize) -> Self {
        let mut request = Request::get(format!("http://proxy.test{path}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(()).expect("a request");
        let (mut answers, mut clients) = (Vec::new(), Vec::new());
        while answers.len() < count {
            let some = STREAMS.min(count - answers.len());
            let (client, heads) = RUNTIME
                .block_on(connection(address, &request, some))
                .unwrap_or_else(|error| panic!("{path}: {error}"));
            answers.extend(heads);
            clients.push(client);
        }
        Self {
            answers,
            _clients: clients,
        }
    }

    /// The heads of the answers with that status.
    pub fn heads(&self, status: StatusCode) -> Vec<&HeaderMap> {
        let answers = self.answers.iter().filter(|answer| answer.status() == status);
        answers.map(Response::headers).collect()
    }
}

type Heads = Vec<Response<h2::RecvStream>>;

/// Sends a request so many times over a new connection.
async fn connection(
    address: SocketAddr,
    request: &Request<()>,
    count: usize,
) -> Result<(SendRequest<Bytes>, Heads), Box<dyn Error>> {
    let stream = TcpStream::connect(address).await?;
    let (mut client, connection) = Builder::new().initial_window_size(0).handshake(stream).await?;
    tokio::spawn(connection);
    let mut sent = Vec::new();
    for _ in 0..count {
        client = client.ready().await?;
        sent.push(client.send_request(request.clone(), true)?.0);
    }
    let mut heads = Vec::new();
    for answer in sent {
        heads.push(answer.await?);
    }
    Ok((client, heads))
}
