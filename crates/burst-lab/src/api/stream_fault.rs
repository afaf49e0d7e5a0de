//! Faults of an open watch.

use serde::{Deserialize, Serialize};

/// A way in which an open watch fails. `after` counts the events that are still sent before the fault: 0 is at once. Initial
/// events and bookmarks count, too.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum StreamFault {
    /// Breaks off after this many bytes, also in the middle of an event. Over HTTP/1.1 the connection is closed before the
    /// last chunk; over HTTP/2 only the stream is reset.
    Cut {
        /// Bytes that are still sent.
        bytes: usize,
    },
    /// Ends as if the timeout of the watch were over.
    End {
        /// Events.
        #[serde(default)]
        after: usize,
    },
    /// Sends nothing more, no bookmarks either, and does not end. The connection works: HTTP/2 pings are answered.
    Silent {
        /// Events.
        #[serde(default)]
        after: usize,
    },
    /// The whole connection goes silent: the server reads and writes nothing more, so that HTTP/2 pings are not answered
    /// either. The connection stays open.
    SilentConnection {
        /// Events.
        #[serde(default)]
        after: usize,
    },
    /// Sends one byte at a time, with this pause before each.
    Drip {
        /// The pause.
        milliseconds: u64,
    },
    /// Sends an ERROR event, 410 Expired, and ends.
    Expired {
        /// Events.
        #[serde(default)]
        after: usize,
    },
    /// Sends one ADDED event of an object with a name of this length, and continues without a fault.
    LongName {
        /// The length of the name.
        characters: usize,
    },
}
