//! Requests of two kinds, and the responses to them.

use serde_json::{Value, json};

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// A typical request to an API: a POST of 1 KB of JSON, answered by 4 KB in chunks.
    Json,
    /// The smallest request: a GET, answered by a line.
    Line,
    /// A GET that is answered by 16 chunks of 2 KB, one after the other.
    Chunks,
}

/// The chunk size of Go's HTTP server.
const CHUNK: usize = 2048;

/// The chunks of [`RequestKind::Chunks`].
const CHUNKS: usize = 16;

/// What tells it from the other GET.
const CHUNKS_PATH: &str = "/chunks";

impl RequestKind {
    pub(crate) const ALL: [Self; 3] = [Self::Json, Self::Line, Self::Chunks];

    /// The beginning of its rows' names.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Json => "POST",
            Self::Line => "GET",
            Self::Chunks => "GET, 16 chunks",
        }
    }

    /// The key of its medians in the JSON file.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Json => "added_cpu_us",
            Self::Line => "added_cpu_us_get",
            Self::Chunks => "added_cpu_us_chunks",
        }
    }

    /// Returns the number of rounds, and of the requests on each connection in a slice. Chunks take their time.
    pub(crate) fn rounds(self) -> (usize, u32) {
        match self {
            Self::Json | Self::Line => (501, 12),
            Self::Chunks => (101, 3),
        }
    }

    /// Returns the request as a client sends it.
    pub(crate) fn request(self, host: &str, path: &str) -> Vec<u8> {
        let path = if self == Self::Chunks { CHUNKS_PATH } else { path };
        let head = format!("{path} HTTP/1.1\r\nhost: {host}\r\nuser-agent: bench/1.0\r\naccept: */*\r\n");
        match self {
            Self::Json => {
                let body = orders(5);
                let kind = format!("content-type: application/json\r\ncontent-length: {}", body.len());
                format!("POST {head}{kind}\r\n\r\n{body}").into_bytes()
            }
            Self::Line | Self::Chunks => format!("GET {head}\r\n").into_bytes(),
        }
    }

    /// Returns how the request starts and ends when it arrives at the upstream.
    pub(crate) fn request_ends(self) -> (&'static [u8], Vec<u8>) {
        match self {
            Self::Json => (b"POST ", orders(5).into_bytes()),
            Self::Line => (b"GET ", b"\r\n\r\n".to_vec()),
            Self::Chunks => (b"GET /chunks ", b"\r\n\r\n".to_vec()),
        }
    }

    /// Returns the response as the upstream sends it, in parts with a pause between them.
    pub(crate) fn response(self) -> Vec<Vec<u8>> {
        let (head, mut parts) = match self {
            Self::Json => (
                "content-type: application/json\r\ntransfer-encoding: chunked",
                vec![chunked(&orders(20))],
            ),
            Self::Line => (
                "content-type: text/plain\r\ncontent-length: 19",
                vec![b"this is the answer\n".to_vec()],
            ),
            Self::Chunks => (
                "content-type: text/plain\r\ntransfer-encoding: chunked",
                vec![chunk(&[b'x'; CHUNK]); CHUNKS]
                    .into_iter()
                    .chain([LAST_CHUNK.to_vec()])
                    .collect(),
            ),
        };
        parts[0].splice(..0, format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n").into_bytes());
        parts
    }

    /// Returns how the response ends when it arrives at the client.
    pub(crate) fn response_end(self) -> &'static [u8] {
        match self {
            Self::Json | Self::Chunks => b"\r\n0\r\n\r\n",
            Self::Line => b"this is the answer\n",
        }
    }
}

/// Returns an array of objects of 200 bytes each.
fn orders(count: usize) -> String {
    let order = |number: usize| {
        json!({
            "id": format!("3f2b8c1e-5d4a-4b6f-9c70-{number:012}"),
            "state": "confirmed",
            "customer": {"name": "A. N. Other", "country": "DE"},
            "items": [{"sku": "burst-4711", "count": 2, "price": "19.90"}, {"sku": "burst-4712", "count": 1}],
        })
    };
    Value::from_iter((0..count).map(order)).to_string()
}

fn chunked(body: &str) -> Vec<u8> {
    let mut sent: Vec<u8> = body.as_bytes().chunks(CHUNK).flat_map(chunk).collect();
    sent.extend(LAST_CHUNK);
    sent
}

fn chunk(content: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", content.len()).as_bytes(), content, b"\r\n"].concat()
}

const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
