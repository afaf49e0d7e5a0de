//! The metrics APIs: answered on one filter chain, and on no other.

use crate::host;
use crate::http::View;
use crate::stats::Stats;
use burst_model::view::Answer;
use burst_model::view::metrics::{self, Reply, Request, Sources};

/// Answers the current request if it came by the filter chain of the metrics APIs. What a client says of its user
/// counts there only, where the listener lets nobody in but the API server's front proxy.
pub(crate) fn answer(view: &View, stats: &Stats) -> Option<Answer> {
    let apis = view.config.metrics_apis.as_ref()?;
    let chain = host::property(&["xds", "filter_chain_name"])?;
    if chain != apis.filter_chain.as_bytes() {
        return None;
    }
    let names = [":method", ":path", "accept", "if-none-match", "x-remote-user"];
    let [method, path, accept, if_none_match, user] = names.map(|name| host::request_header(name).unwrap_or_default());
    let request = Request {
        method: &method,
        path: &path,
        accept: &accept,
        if_none_match: &if_none_match,
        user: &user,
    };
    let rates = view.rates.borrow();
    let sources = Sources {
        picture: &view.picture.borrow(),
        rates: rates.rates(),
        now: host::now(),
    };
    let Reply { answer, age } = metrics::answer(&view.config, apis, sources, request);
    if let Some((api, age)) = age {
        stats.record_age(api, age);
    }
    Some(answer)
}
