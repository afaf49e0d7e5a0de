//! The upstream of every Envoy cluster.

use burst_lab::{api::Reply, server::Handler};
use bytes::Bytes;
use http::{Request, Response};

/// A path whose answer carries a burst header of the upstream's own.
pub const WITH_BURST: &str = "/with-burst";

/// What that header says.
pub const ITS_OWN: &str = "the upstream's own";

/// A path that is never answered.
pub const SILENT: &str = "/silent";

/// Paths that begin so are answered with a status and a body that they name: `/echo/503/1000`.
const ECHO: &str = "/echo/";

/// The body of that many bytes that such a path has.
pub fn echo(length: usize) -> String {
    "0123456789abcdef".chars().cycle().take(length).collect()
}

/// Answers 200 to everything else.
#[derive(Debug)]
pub struct Upstream;

impl Handler for Upstream {
    fn handle(&self, request: &Request<Bytes>) -> Reply {
        if request.uri().path() == SILENT {
            return Reply::Hang;
        }
        if let Some(answer) = request.uri().path().strip_prefix(ECHO).and_then(echoed) {
            return Reply::Response(answer);
        }
        let mut answer = Response::new(Bytes::from_static(b"hello\n"));
        if request.uri().path() == WITH_BURST {
            for name in ["x-burst", "x-load-feedback"] {
                answer
                    .headers_mut()
                    .insert(name, http::HeaderValue::from_static(ITS_OWN));
            }
        }
        Reply::Response(answer)
    }
}

fn echoed(wanted: &str) -> Option<Response<Bytes>> {
    let (status, length) = wanted.split_once('/')?;
    let body = Bytes::from(echo(length.parse().ok()?));
    Response::builder().status(status.parse::<u16>().ok()?).body(body).ok()
}
