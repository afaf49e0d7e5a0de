//! A connection to Chromium in its [DevTools protocol](https://chromedevtools.github.io/devtools-protocol/): JSON over a
//! WebSocket. The crates for it do not fit: `headless_chrome` is built with a crate under the GPL and `fantoccini` with one under
//! the MPL, `chromiumoxide` has the whole protocol as generated code, and `thirtyfour` changes the order of keys in `serde_json`.

use std::{net::TcpStream, time::Duration};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Message, WebSocket, client};

/// A connection, and the events that it brought.
pub(super) struct DevTools {
    socket: WebSocket<TcpStream>,
    calls: u64,
    /// Each with the session that it is of.
    pub(super) events: Vec<Value>,
}

impl DevTools {
    /// Connects to an address such as `ws://127.0.0.1:9222/devtools/browser/ID`. A call fails if its answer takes longer than
    /// `patience`.
    ///
    /// # Panics
    /// When nothing listens there, or it is no WebSocket.
    #[track_caller]
    pub(super) fn connect(address: &str, patience: Duration) -> Self {
        let host = address.strip_prefix("ws://").and_then(|rest| rest.split('/').next());
        let stream = TcpStream::connect(host.expect("an address of a WebSocket")).expect("Chromium listens");
        stream.set_read_timeout(Some(patience)).expect("a timeout");
        let (socket, _) = client(address, stream).expect("a WebSocket");
        Self {
            socket,
            calls: 0,
            events: Vec::new(),
        }
    }

    /// Calls a method, of a session or of Chromium itself, and returns its result. Events that come before it are kept.
    ///
    /// # Errors
    /// What Chromium answers.
    ///
    /// # Panics
    /// When the connection ends, or no answer comes in time.
    #[track_caller]
    pub(super) fn call(&mut self, session: Option<&str>, method: &str, parameters: &Value) -> Result<Value, String> {
        self.calls += 1;
        let mut call = json!({"id": self.calls, "method": method, "params": parameters});
        if let Some(session) = session {
            call["sessionId"] = json!(session);
        }
        let sent = self.socket.send(Message::text(call.to_string()));
        sent.unwrap_or_else(|error| panic!("{method}: {error}"));
        loop {
            let message = self.socket.read().unwrap_or_else(|error| panic!("{method}: {error}"));
            let Message::Text(text) = message else { continue };
            let mut message: Value = serde_json::from_str(&text).expect("JSON");
            if message["id"] != self.calls {
                self.events.push(message);
            } else if message["error"].is_null() {
                return Ok(message["result"].take());
            } else {
                return Err(message["error"].to_string());
            }
        }
    }
}
