//! How an answer is asked for.

use burst_bench_readers::protobuf;

use crate::server::Server;

/// An encoding, compressed or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) protobuf: bool,
    gzip: bool,
}

impl Form {
    pub(crate) const JSON: Self = Self::new(false, false);
    pub(crate) const PROTOBUF: Self = Self::new(true, false);
    pub(crate) const ALL: [Self; 4] = [
        Self::JSON,
        Self::PROTOBUF,
        Self::new(false, true),
        Self::new(true, true),
    ];

    const fn new(protobuf: bool, gzip: bool) -> Self {
        Self { protobuf, gzip }
    }

    pub(crate) const fn name(self) -> &'static str {
        match (self.protobuf, self.gzip) {
            (false, false) => "JSON",
            (true, false) => "protobuf",
            (false, true) => "JSON by gzip",
            (true, true) => "protobuf by gzip",
        }
    }

    /// The body, in that form and no other. `kubectl proxy` asks for gzip of its own accord where nothing is said.
    pub(crate) fn fetch(self, server: &Server, path: &str) -> Vec<u8> {
        let accept = if self.protobuf {
            protobuf::MEDIA_TYPE
        } else {
            "application/json"
        };
        let encoding = if self.gzip { "gzip" } else { "identity" };
        let (head, body) = server.fetch(path, &format!("accept: {accept}\r\naccept-encoding: {encoding}\r\n"));
        let head = head.to_ascii_lowercase();
        assert!(head.contains(" 200 ok\r\n"), "{path}: {head}");
        assert!(head.contains(&format!("content-type: {accept}")), "{path}: {head}");
        assert_eq!(head.contains("content-encoding: gzip"), self.gzip, "{path}: {head}");
        body
    }
}
