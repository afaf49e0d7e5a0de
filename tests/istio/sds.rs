//! The answer of Istio's agent when Envoy asks for the certificates of its workload: one gRPC message, in a stream that
//! stays open. This server speaks HTTP/1.1, and a proxy translates it to HTTP/2.
//! <https://www.envoyproxy.io/docs/envoy/latest/api-v3/service/discovery/v3/discovery.proto>

use std::{
    io::Write as _,
    net::{SocketAddr, TcpListener},
    path::Path,
    thread,
};

const SECRET: &str = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret";

/// A `Secret`, encoded.
pub(crate) struct Secret(Vec<u8>);

impl Secret {
    /// A certificate with its key. Istio names the workload's certificate `default`.
    pub(crate) fn certificate(name: &str, chain: &Path, key: &Path) -> Self {
        let certificate = [field(1, &file(chain)), field(2, &file(key))].concat();
        Self([field(1, name.as_bytes()), field(2, &certificate)].concat())
    }

    /// A trusted authority. Istio names it `ROOTCA`.
    pub(crate) fn root(name: &str, authority: &Path) -> Self {
        let validation = field(1, &file(authority));
        Self([field(1, name.as_bytes()), field(4, &validation)].concat())
    }
}

/// Sends these secrets to every client. Each subscription uses the one that it asked for.
pub(crate) fn serve(secrets: &[Secret]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let message = response(secrets);
    thread::spawn(move || {
        let mut open = Vec::new();
        for mut stream in listener.incoming().flatten() {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/grpc\r\ntransfer-encoding: chunked\r\n\r\n";
            let chunk = format!("{:x}\r\n", message.len());
            let answer = [head.as_bytes(), chunk.as_bytes(), &message, b"\r\n"].concat();
            // A client that has disconnected needs no answer.
            if stream.write_all(&answer).is_ok() {
                open.push(stream);
            }
        }
    });
    address
}

/// A `DiscoveryResponse`, framed for gRPC.
fn response(secrets: &[Secret]) -> Vec<u8> {
    let resource = |Secret(value): &Secret| field(2, &[field(1, SECRET.as_bytes()), field(2, value)].concat());
    let resources: Vec<_> = secrets.iter().flat_map(resource).collect();
    let message = [field(1, b"1"), resources, field(4, SECRET.as_bytes()), field(5, b"1")].concat();
    let length = u32::try_from(message.len()).expect("a short message").to_be_bytes();
    [&[0], &length[..], &message].concat()
}

/// A `DataSource` that names a file.
fn file(path: &Path) -> Vec<u8> {
    field(1, path.as_os_str().as_encoded_bytes())
}

/// A field that holds bytes, text or a message.
/// <https://protobuf.dev/programming-guides/encoding/>
fn field(number: u8, value: &[u8]) -> Vec<u8> {
    let mut encoded = vec![number << 3 | 2];
    let mut length = value.len();
    while length > 0x7f {
        encoded.push(u8::try_from(length & 0x7f).expect("seven bits") | 0x80);
        length >>= 7;
    }
    encoded.push(u8::try_from(length).expect("seven bits"));
    encoded.extend_from_slice(value);
    encoded
}
