//! A TCP relay before a server, whose connections can be cut, go silent, or become very slow.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    task::JoinHandle,
    time,
};

use crate::http::RUNTIME;

/// The time that one byte of a dripping connection takes.
const DRIP: Duration = Duration::from_secs(1);

/// The most bytes that are forwarded at a time.
const CHUNK: usize = 16 << 10;

/// What a connection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Forwarding,
    /// Forwards nothing, and does not close.
    Silent,
    /// Forwards a byte a second in each direction.
    Dripping,
    Closed,
}

/// A relay on a port of its own. Dropping it closes the port and its connections.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    connections: Arc<Mutex<Connections>>,
    listener: JoinHandle<()>,
}

#[derive(Debug)]
struct Connections {
    /// The flow of the next connections.
    next: Flow,
    open: Vec<watch::Sender<Flow>>,
}

impl Relay {
    /// Relays to that port of 127.0.0.1.
    ///
    /// # Panics
    /// When there is no free port.
    #[must_use]
    pub fn to(port: u16) -> Self {
        let listener = RUNTIME
            .block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
            .expect("a free port");
        let address = listener.local_addr().expect("the address of a listener");
        let connections = Arc::new(Mutex::new(Connections {
            next: Flow::Forwarding,
            open: Vec::new(),
        }));
        let listener = RUNTIME.spawn(accept(listener, port, connections.clone()));
        Self {
            address,
            connections,
            listener,
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Closes the open connections. New ones work.
    pub fn cut(&self) {
        self.set(Flow::Closed, Flow::Forwarding);
    }

    /// The open connections forward nothing any more, and stay open. New ones work.
    pub fn silence_connections(&self) {
        self.set(Flow::Silent, Flow::Forwarding);
    }

    /// Open and new connections forward nothing, until [`cut`](Self::cut).
    pub fn silence(&self) {
        self.set(Flow::Silent, Flow::Silent);
    }

    /// Closes the open connections. New ones forward nothing, until [`cut`](Self::cut).
    pub fn cut_and_silence(&self) {
        self.set(Flow::Closed, Flow::Silent);
    }

    /// The open connections forward one byte a second from now on. New ones work.
    pub fn drip(&self) {
        self.set(Flow::Dripping, Flow::Forwarding);
    }

    fn set(&self, open: Flow, next: Flow) {
        let mut connections = locked(&self.connections);
        connections.next = next;
        connections.open.retain(|connection| connection.send(open).is_ok());
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.listener.abort();
        self.cut();
    }
}

fn locked(connections: &Mutex<Connections>) -> MutexGuard<'_, Connections> {
    connections.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, port: u16, connections: Arc<Mutex<Connections>>) {
    while let Ok((client, _)) = listener.accept().await {
        let flow = {
            let mut connections = locked(&connections);
            let (sender, flow) = watch::channel(connections.next);
            connections.open.push(sender);
            flow
        };
        tokio::spawn(relay(client, port, flow));
    }
}

/// Relays one connection until one of its sides, or the test, closes it.
async fn relay(client: TcpStream, port: u16, mut flow: watch::Receiver<Flow>) {
    let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await else {
        return;
    };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        _ = forward(from_client, to_server, flow.clone()) => {}
        _ = forward(from_server, to_client, flow.clone()) => {}
        _ = flow.wait_for(|flow| *flow == Flow::Closed) => {}
    }
}

/// Forwards what one side sends.
async fn forward(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut flow: watch::Receiver<Flow>) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let count = from.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        let mut rest = buffer.get(..count).unwrap_or_default();
        while !rest.is_empty() {
            let Ok(now) = flow.wait_for(|flow| *flow != Flow::Silent).await.map(|flow| *flow) else {
                return Ok(());
            };
            let size = if now == Flow::Dripping { 1 } else { rest.len() };
            let (part, after) = rest.split_at(size);
            if now == Flow::Dripping {
                time::sleep(DRIP).await;
            }
            to.write_all(part).await?;
            rest = after;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        net, thread,
    };

    use super::*;

    const SOON: Duration = Duration::from_secs(60);

    /// How long a test waits to see that nothing comes.
    const SILENCE: Duration = Duration::from_millis(200);

    /// A server that echoes each connection.
    fn echo() -> u16 {
        let listener = net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut from, mut to) = (stream.as_ref().unwrap().try_clone().unwrap(), stream.unwrap());
                thread::spawn(move || io::copy(&mut from, &mut to));
            }
        });
        port
    }

    fn connect(relay: &Relay) -> net::TcpStream {
        let stream = net::TcpStream::connect((Ipv4Addr::LOCALHOST, relay.port())).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream
    }

    fn ask(stream: &mut net::TcpStream) -> io::Result<String> {
        stream.write_all(b"hello")?;
        let mut answer = [0; 5];
        stream.read_exact(&mut answer)?;
        Ok(String::from_utf8(answer.into()).unwrap())
    }

    fn is_silent(stream: &mut net::TcpStream) -> bool {
        stream.set_read_timeout(Some(SILENCE)).unwrap();
        ask(stream).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    #[test]
    fn a_connection_is_cut_and_the_next_one_works() {
        let relay = Relay::to(echo());
        let mut first = connect(&relay);
        assert_eq!(ask(&mut first).unwrap(), "hello");
        relay.cut();
        assert!(ask(&mut first).is_err_and(|error| error.kind() != io::ErrorKind::WouldBlock));
        assert_eq!(ask(&mut connect(&relay)).unwrap(), "hello");
    }

    #[test]
    fn open_connections_go_silent_and_the_next_one_works() {
        let relay = Relay::to(echo());
        let mut first = connect(&relay);
        assert_eq!(ask(&mut first).unwrap(), "hello");
        relay.silence_connections();
        assert!(is_silent(&mut first));
        assert_eq!(ask(&mut connect(&relay)).unwrap(), "hello");
    }

    #[test]
    fn all_connections_are_silent_until_they_are_cut() {
        let relay = Relay::to(echo());
        relay.silence();
        assert!(is_silent(&mut connect(&relay)));
        relay.cut();
        assert_eq!(ask(&mut connect(&relay)).unwrap(), "hello");
    }

    #[test]
    fn a_dripping_connection_forwards_a_byte_a_second() {
        let relay = Relay::to(echo());
        let mut first = connect(&relay);
        assert_eq!(ask(&mut first).unwrap(), "hello");
        relay.drip();
        let before = std::time::Instant::now();
        first.write_all(b"x").unwrap();
        first.read_exact(&mut [0]).unwrap();
        assert!(before.elapsed() >= 2 * DRIP, "there and back");
    }
}
