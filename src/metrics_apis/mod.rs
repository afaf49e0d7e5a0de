//! The metrics APIs: answered on one filter chain, and on no other.

mod review;
mod survey;

pub(crate) use review::{Desk, Waiting, send, take as take_review};
pub(crate) use survey::{Known, Survey};

use crate::host;
use crate::http::{self, View};
use crate::log;
use crate::vm::{self, BulkPermit};
use burst_model::config::{Authorization, MetricsApis};
use burst_model::quarantine::{Item, ItemKind};
use burst_model::serve::LocalReply;
use burst_model::serve::metrics::connection::{self, Connection};
use burst_model::serve::metrics::review::{Access, Verdict};
use burst_model::serve::metrics::{self, Reply, Request, Sources, others};
use std::rc::Rc;

/// The header-only module sees no requests, and there need be nothing in it that answers them.
const ARE_LEFT_OUT: bool = cfg!(feature = "header-only");

/// What becomes of a request of the filter chain.
pub(crate) enum Taken {
    /// It is answered so.
    Answered(LocalReply),
    /// Another adapter answers it, to which Envoy's route leads.
    Passed,
    /// It is answered as soon as it is known whether its user may ask.
    Waits(Waiting),
}

/// Takes the current request, of that stream, if it came by the filter chain of the metrics APIs. What a client says of
/// its user counts there only, and over mutual TLS only, as the listener lets nobody in but the API server's front proxy.
pub(crate) fn take(view: &Rc<View>, stream: u32) -> Option<Taken> {
    let apis = view.config.metrics_apis.as_deref()?;
    let chain = host::property(&["xds", "filter_chain_name"])?;
    if chain != apis.filter_chain.as_bytes() {
        return None;
    }
    if let Err(refused) = check_connection(view, apis) {
        return Some(Taken::Answered(refused));
    }
    let asked = Asked::read(apis);
    Some(match apis.authorization {
        Authorization::ApiServer => asked.serve(view, apis),
        Authorization::SubjectAccessReview => review(view, apis, asked, stream),
    })
}

/// One line of the log for all requests: anybody who reaches the listener can send another.
fn check_connection(view: &View, apis: &MetricsApis) -> Result<(), LocalReply> {
    let local_address = host::property(&["destination", "address"]).unwrap_or_default();
    let connection = Connection {
        is_mutual_tls: host::is_mutual_tls(),
        local_address: &local_address,
    };
    connection::check(apis, connection).inspect_err(|_| {
        vm::stats().insecure_refused.count();
        if !view.told_insecure.replace(true) {
            log::warn(format_args!(
                "requests of the metrics APIs are refused, because they come to {:?} without mutual TLS: \
                 let the listener of filter chain {:?} require a client certificate",
                String::from_utf8_lossy(&local_address),
                apis.filter_chain,
            ));
        }
    })
}

fn review(view: &Rc<View>, apis: &MetricsApis, asked: Asked, stream: u32) -> Taken {
    let headers = host::request_headers();
    let headers = headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
    let access = match Access::of(&asked.method, &asked.path, headers) {
        Ok(access) => access,
        Err(answer) => return Taken::Answered(answer),
    };
    if access.is_exempt() {
        return asked.serve(view, apis);
    }
    let question = access.question();
    match view.reviews.known(&question) {
        Some(Verdict::Allowed) => asked.serve(view, apis),
        Some(Verdict::Denied(reason)) => Taken::Answered(access.forbidden(&reason)),
        None => view.reviews.wait(view, question, stream, asked, access),
    }
}

/// What a request says that counts for its answer.
struct Asked {
    method: Vec<u8>,
    path: Vec<u8>,
    accept: Vec<u8>,
    if_none_match: Vec<u8>,
    user: Vec<u8>,
    /// Where policies want to know them. One may have a comma in its name, so they are taken as they came, a header
    /// each.
    groups: Vec<String>,
}

impl Asked {
    /// Of the current request.
    fn read(apis: &MetricsApis) -> Self {
        let header = |name| host::request_header(name).unwrap_or_default();
        Self {
            method: header(":method"),
            path: header(":path"),
            accept: header("accept"),
            if_none_match: header("if-none-match"),
            user: header("x-remote-user"),
            groups: apis.policies.as_ref().map(|_| groups()).unwrap_or_default(),
        }
    }

    /// Under a mark: patterns of policies are compiled, and the sum of counted requests is parsed, by the first request that
    /// needs them.
    fn serve(&self, view: &View, apis: &MetricsApis) -> Taken {
        let bytes = [&view.policies.get().to_le_bytes(), &self.path[..], &self.user].concat();
        let request = Item::of_bytes(ItemKind::MetricsQuery, &bytes);
        let answered = view.quarantine.answer(request, || self.answer(view, apis));
        answered.unwrap_or_else(|| Taken::Answered(metrics::left_alone()))
    }

    fn answer(&self, view: &View, apis: &MetricsApis) -> Taken {
        let request = Request {
            method: &self.method,
            path: &self.path,
            accept: &self.accept,
            if_none_match: &self.if_none_match,
            user: &self.user,
            groups: &self.groups,
        };
        let rates = view.rates.borrow();
        let sources = Sources {
            picture: &view.picture.borrow(),
            rates: rates.rates(),
            offers: &view.others.borrow().offers,
            enforced: &view.enforced.borrow(),
            now: host::now(),
        };
        match others::goes_on(&view.config, apis, sources, request) {
            Ok(false) => {}
            Ok(true) => {
                vm::stats().passed_on.count();
                return Taken::Passed;
            }
            Err(refused) => return Taken::Answered(refused),
        }
        let Reply { answer, age } = metrics::answer(&view.config, apis, sources, request);
        if let Some((api, age)) = age {
            vm::stats().record_age(api, age);
        }
        Taken::Answered(answer)
    }
}

fn groups() -> Vec<String> {
    let headers = host::request_headers().into_iter();
    let groups = headers.filter(|(name, _)| name == "x-remote-group");
    groups
        .map(|(_, group)| String::from_utf8_lossy(&group).into_owned())
        .collect()
}

/// Answers the current stream from the proxy; what the stream has to hold for as long as the answer is under way.
pub(crate) fn reply(answer: &LocalReply) -> Option<BulkPermit> {
    http::reply(answer, metrics::busy)
}
