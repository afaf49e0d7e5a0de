//! Answers the requests of the metrics APIs, which have a filter chain of their own.
//!
//! The crate `burst-metrics-api` parses a request and decides what happens. This module reads the request from the host and
//! carries the decision out.

mod adapter_discovery;
mod authorizer;

pub(crate) use adapter_discovery::{AdapterDiscovery, KnownAdapters};
pub(crate) use authorizer::{Authorizer, PendingGuard, send, take as take_review};

use crate::host;
use crate::http::View;
use crate::local_reply;
use crate::log;
use crate::vm::{self, BulkPermit};
use burst_metrics_api::connection::{self, DownstreamConnection};
use burst_metrics_api::review::{AccessReview, ReviewVerdict};
use burst_metrics_api::{self as metrics, MetricSources, MetricsRequest, RoutedRequest};
use burst_model::config::{Authorization, MetricsApis};
use burst_model::quarantine::{Item, ItemKind};
use burst_model::serve::LocalReply;
use std::rc::Rc;

/// The header-only module receives no requests. This constant lets the compiler leave out the code that answers them.
const COMPILED_OUT: bool = cfg!(feature = "header-only");

/// What happens to a request of the filter chain.
pub(crate) enum Disposition {
    /// The filter answers it.
    Answered(LocalReply),
    /// Another adapter answers it: Envoy's route leads there.
    Delegated,
    /// It waits for a SubjectAccessReview.
    Pending(PendingGuard),
}

/// Handles the current request, of this stream. Returns `None` if it is not on the filter chain of the metrics APIs.
///
/// The headers that name a user count only on that chain and only over mutual TLS, because its listener accepts no other
/// client than the API server's front proxy.
pub(crate) fn handle_request(view: &Rc<View>, stream: u32) -> Option<Disposition> {
    let apis = view.config.metrics_apis.as_deref()?;
    let chain = host::property(&["xds", "filter_chain_name"])?;
    if chain != apis.filter_chain.as_bytes() {
        return None;
    }
    let request = match check_connection(view, apis).and_then(|()| parse_request(apis)) {
        Ok(request) => request,
        Err(answer) => return Some(Disposition::Answered(answer)),
    };
    Some(match apis.authorization {
        Authorization::ApiServer => serve(&request, view, apis),
        Authorization::SubjectAccessReview => review(request, view, apis, stream),
    })
}

/// Refuses requests without mutual TLS. Every client that reaches the listener can send such requests, so only the first one
/// is logged.
fn check_connection(view: &View, apis: &MetricsApis) -> Result<(), LocalReply> {
    let local_address = host::property(&["destination", "address"]).unwrap_or_default();
    let connection = DownstreamConnection {
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

fn parse_request(apis: &MetricsApis) -> Result<MetricsRequest, LocalReply> {
    let headers = host::request_headers();
    let headers = headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
    MetricsRequest::parse(headers, apis.authorization)
}

fn review(request: MetricsRequest, view: &Rc<View>, apis: &MetricsApis, stream: u32) -> Disposition {
    let review = AccessReview::of(&request);
    if review.is_exempt() {
        return serve(&request, view, apis);
    }
    let json = review.to_json();
    match view.reviews.verdict(&json) {
        Some(ReviewVerdict::Allowed) => serve(&request, view, apis),
        Some(ReviewVerdict::Denied(reason)) => Disposition::Answered(review.forbidden(&reason)),
        None => view.reviews.enqueue(view, json, stream, request),
    }
}

/// Answers an authorized request, unless it is quarantined. The first request that needs them compiles the patterns of the
/// policies and parses the counted requests, so a bad one could end the VM here.
fn serve(request: &MetricsRequest, view: &View, apis: &MetricsApis) -> Disposition {
    let fingerprint = [&view.policies.get().to_le_bytes()[..], &request.fingerprint()].concat();
    let item = Item::of_bytes(ItemKind::Query, &fingerprint);
    view.quarantine
        .answer(item, || route(request, view, apis))
        .unwrap_or_else(|| Disposition::Answered(metrics::quarantined()))
}

fn route(request: &MetricsRequest, view: &View, apis: &MetricsApis) -> Disposition {
    let rates = view.rates.borrow();
    let sources = MetricSources {
        config: &view.config,
        apis,
        cache: &view.picture.borrow(),
        rates: rates.rates(),
        adapter_resources: &view.others.borrow().resources,
        policies: &view.enforced.borrow(),
        now: host::now(),
    };
    match metrics::serve(&sources, request) {
        RoutedRequest::Delegated => {
            vm::stats().passed_on.count();
            Disposition::Delegated
        }
        RoutedRequest::Answered(response) => {
            if let Some((api, age)) = response.value_age {
                vm::stats().record_age(api, age);
            }
            Disposition::Answered(response.answer)
        }
    }
}

/// Replies to the current stream, which has to hold the permit of a bulk reply until its end.
pub(crate) fn reply(answer: &LocalReply) -> Option<BulkPermit> {
    local_reply::send_or(answer, metrics::too_many_bulk_answers)
}
