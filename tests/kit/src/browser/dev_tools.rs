//! A connection to Chromium in its [DevTools protocol](https://chromedevtools.github.io/devtools-protocol/): JSON over a
//! WebSocket. The crates for it do not fit: `headless_chrome` is built with a crate under the GPL and `fantoccini` with one under
//! the MPL, `chromiumoxide` has the whole protocol as generated code, and `thirtyfour` changes the order of keys in `serde_json`.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{WebSocketStream, client_async, tungstenite::Message};

use crate::http::RUNTIME;

/// A connection, and the events that it brought.
///
/// It is an asynchronous one: a blocking socket with a timeout fails whenever the process gets a signal, such as the one for the
/// end of a child.
pub(super) struct DevTools {
    socket: WebSocketStream<TcpStream>,
    patience: Duration,
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
        let host = host.expect("an address of a WebSocket");
        let connect = async {
            let stream = TcpStream::connect(host).await.expect("Chromium listens");
            client_async(address, stream).await.expect("a WebSocket").0
        };
        let socket = RUNTIME.block_on(async { timeout(patience, connect).await });
        let socket = socket.expect("Chromium accepts the WebSocket in time");
        Self {
            socket,
            patience,
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
        let sent = RUNTIME.block_on(self.socket.send(Message::text(call.to_string())));
        sent.unwrap_or_else(|error| panic!("{method}: {error}"));
        loop {
            let message = RUNTIME.block_on(async { timeout(self.patience, self.socket.next()).await });
            let message = message.unwrap_or_else(|_| panic!("{method}: no answer within {:?}", self.patience));
            let message = message.unwrap_or_else(|| panic!("{method}: Chromium closed the connection"));
            let message = message.unwrap_or_else(|error| panic!("{method}: {error}"));
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
