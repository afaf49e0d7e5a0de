//! The upstream of the proxy: it answers with the head of each request as it came.

use std::fmt::Write as _;

use burst_lab::{
    api::Reply,
    server::{Handler, Server},
};
use bytes::Bytes;
use http::{Request, Response};

use crate::filter::serve;

/// Answers until it is dropped.
pub(super) fn start() -> Server {
    serve(Echo)
}

struct Echo;

impl Handler for Echo {
    fn handle(&self, request: &Request<Bytes>) -> Reply {
        let mut head = format!("{} {} {:?}\n", request.method(), request.uri(), request.version());
        for (name, value) in request.headers() {
            let value = String::from_utf8_lossy(value.as_bytes());
            writeln!(head, "{name}: {value}").expect("text");
        }
        Reply::Response(Response::new(head.into()))
    }
}
