//! A fake kubelet. It forwards any port of any pod to one address, with the port-forward protocol that kubectl and
//! kube speak through the API server.

use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::{Bytes, Message};

/// The protocol that the client requests. The first byte of a message says whether it is data or an error.
const PROTOCOL: &str = "v4.channel.k8s.io";

/// The channel of the data, and the channel of the errors.
const CHANNELS: [u8; 2] = [0, 1];

/// The fake kubelet. Dropping it stops it.
pub(crate) struct Kubelet {
    pub(crate) port: u16,
    _runtime: Runtime,
}

impl Kubelet {
    /// Starts a kubelet that forwards to `target`.
    pub(crate) fn start(target: SocketAddr) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        let acceptor = acceptor();
        runtime.spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(forward(connection, acceptor.clone(), target));
            }
        });
        Self {
            port,
            _runtime: runtime,
        }
    }
}

/// Without a certificate authority for kubelets, the API server accepts any certificate.
fn acceptor() -> TlsAcceptor {
    let own = rcgen::generate_simple_self_signed(["kubelet".to_owned()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

async fn forward(connection: TcpStream, acceptor: TlsAcceptor, target: SocketAddr) {
    let connection = acceptor.accept(connection).await.unwrap();
    let mut requested = String::new();
    #[allow(clippy::result_large_err, reason = "the library's")]
    let upgrade = |request: &Request, mut response: Response| -> Result<Response, ErrorResponse> {
        requested = request.uri().to_string();
        let protocol = PROTOCOL.parse().unwrap();
        response.headers_mut().insert("sec-websocket-protocol", protocol);
        Ok(response)
    };
    let mut client = tokio_tungstenite::accept_hdr_async(connection, upgrade).await.unwrap();
    assert!(requested.starts_with("/portForward/"), "{requested}");
    let port: u16 = requested.rsplit_once("port=").unwrap().1.parse().unwrap();
    let message = |channel: u8, bytes: &[u8]| Message::Binary(Bytes::from([&[channel], bytes].concat()));
    for channel in CHANNELS {
        client.send(message(channel, &port.to_le_bytes())).await.unwrap();
    }
    let mut pod = TcpStream::connect(target).await.unwrap();
    let mut buffer = vec![0; 16 << 10];
    loop {
        tokio::select! {
            read = pod.read(&mut buffer) => match read {
                Ok(count @ 1..) => client.send(message(CHANNELS[0], &buffer[..count])).await.unwrap(),
                _ => return,
            },
            said = client.next() => match said {
                Some(Ok(Message::Binary(bytes))) => pod.write_all(&bytes[1..]).await.unwrap(),
                Some(Ok(_)) => {}
                _ => return,
            },
        }
    }
}
