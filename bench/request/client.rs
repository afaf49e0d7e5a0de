//! A client that keeps its connections open and has a request in flight on each.

use std::{
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
};

use burst_bench_kit::proxy::PATIENCE;
use burst_testkit::wait;

use crate::{
    requests::RequestKind,
    services,
    variants::{ExpectedHeader, Variant},
};

/// Connections. Each requests another Service.
pub(crate) const CONNECTIONS: usize = 16;

/// Connections to one listener.
pub(crate) struct Client {
    connections: Vec<Connection>,
}

struct Connection {
    stream: TcpStream,
    /// A request of each kind.
    requests: [Vec<u8>; RequestKind::ALL.len()],
    answer: Vec<u8>,
}

impl Client {
    /// Connects, and waits until the responses have the expected header.
    pub(crate) fn connect(address: SocketAddr, variant: Variant) -> Self {
        let connections = (0..CONNECTIONS).map(|service| {
            let mut connection = Connection::open(address, service, variant.path);
            let expected = expected(variant.expected, service);
            for kind in RequestKind::ALL {
                wait::for_ok(PATIENCE, variant.label, || {
                    connection.check_header(kind, expected.as_deref())
                });
            }
            connection
        });
        Self {
            connections: connections.collect(),
        }
    }

    /// Sends that many requests on each connection, one after the other. Returns the number of all requests.
    pub(crate) fn send(&mut self, kind: RequestKind, requests: u32) -> u32 {
        let mut answered = 0;
        for _ in 0..requests {
            for connection in &mut self.connections {
                connection.send(kind);
            }
            for connection in &mut self.connections {
                connection.receive(kind);
                answered += 1;
            }
        }
        answered
    }
}

impl Connection {
    fn open(address: SocketAddr, service: usize, path: &str) -> Self {
        let stream = TcpStream::connect(address).expect("a listener");
        stream.set_nodelay(true).expect("a socket");
        let host = services::host(service);
        Self {
            stream,
            requests: RequestKind::ALL.map(|kind| kind.request(&host, path)),
            answer: Vec::new(),
        }
    }

    fn send(&mut self, kind: RequestKind) {
        let request = &self.requests[kind as usize];
        self.stream.write_all(request).expect("a connection");
    }

    fn receive(&mut self, kind: RequestKind) {
        self.answer.clear();
        while !self.answer.ends_with(kind.response_end()) {
            let size = read(&mut self.stream, &mut self.answer).expect("a connection");
            assert!(
                size > 0,
                "the connection was closed after: {}",
                String::from_utf8_lossy(&self.answer)
            );
        }
    }

    /// Checks that a response has this header, or none.
    fn check_header(&mut self, kind: RequestKind, header: Option<&str>) -> Result<(), String> {
        self.send(kind);
        self.receive(kind);
        let answer = String::from_utf8_lossy(&self.answer);
        let found = answer.lines().find_map(|line| line.strip_prefix("x-burst: "));
        if found == header {
            Ok(())
        } else {
            Err(format!("{header:?} is not in {answer}"))
        }
    }
}

fn read(stream: &mut TcpStream, into: &mut Vec<u8>) -> io::Result<usize> {
    let mut bytes = [0; 8192];
    let size = stream.read(&mut bytes)?;
    into.extend_from_slice(&bytes[..size]);
    Ok(size)
}

fn expected(header: ExpectedHeader, service: usize) -> Option<String> {
    match header {
        ExpectedHeader::Absent => None,
        ExpectedHeader::Constant => Some(services::header(0)),
        ExpectedHeader::Live => Some(services::header(service)),
    }
}
