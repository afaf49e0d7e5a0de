//! A client that keeps its connections and has a request under way on all of them.

use std::{
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use burst_testkit::wait;

use crate::{
    cluster,
    traffic::Traffic,
    variants::{Shows, Variant},
};

/// Connections, each with requests to a Service of its own.
pub(crate) const CONNECTIONS: usize = 16;

/// For the filter to read ten thousand Services on a machine with much else to do.
const PATIENCE: Duration = Duration::from_secs(120);

/// Connections to one listener.
pub(crate) struct Client {
    connections: Vec<Connection>,
}

struct Connection {
    stream: TcpStream,
    /// One of each kind.
    requests: [Vec<u8>; Traffic::ALL.len()],
    answer: Vec<u8>,
}

impl Client {
    /// Connects, and waits until the answers have the header that they should.
    pub(crate) fn connect(address: SocketAddr, variant: Variant) -> Self {
        let connections = (0..CONNECTIONS).map(|service| {
            let mut connection = Connection::open(address, service, variant.path);
            let expected = expected(variant.shows, service);
            for traffic in Traffic::ALL {
                wait::for_ok(PATIENCE, variant.what, || {
                    connection.shows(traffic, expected.as_deref())
                });
            }
            connection
        });
        Self {
            connections: connections.collect(),
        }
    }

    /// Sends that many requests on each connection, one after the other; how many these were in all.
    pub(crate) fn send(&mut self, traffic: Traffic, requests: u32) -> u32 {
        let mut answered = 0;
        for _ in 0..requests {
            // One is under way on each connection, as on a proxy that has something to do.
            for connection in &mut self.connections {
                connection.send(traffic);
            }
            for connection in &mut self.connections {
                connection.receive(traffic);
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
        let host = cluster::host(service);
        Self {
            stream,
            requests: Traffic::ALL.map(|traffic| traffic.request(&host, path)),
            answer: Vec::new(),
        }
    }

    fn send(&mut self, traffic: Traffic) {
        let request = &self.requests[traffic as usize];
        self.stream.write_all(request).expect("a connection");
    }

    fn receive(&mut self, traffic: Traffic) {
        self.answer.clear();
        while !self.answer.ends_with(traffic.end()) {
            let size = read(&mut self.stream, &mut self.answer).expect("a connection");
            assert!(size > 0, "an answer ends: {}", String::from_utf8_lossy(&self.answer));
        }
    }

    /// Whether an answer has that header, or none.
    fn shows(&mut self, traffic: Traffic, header: Option<&str>) -> Result<(), String> {
        self.send(traffic);
        self.receive(traffic);
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

fn expected(shows: Shows, service: usize) -> Option<String> {
    match shows {
        Shows::Nothing => None,
        Shows::Constant => Some(cluster::header(0)),
        Shows::Live => Some(cluster::header(service)),
    }
}
