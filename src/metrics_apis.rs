//! The metrics APIs: answered on one filter chain, and on no other.

use crate::host;
use crate::http::View;
use crate::stats::Stats;
use burst_model::config::MetricsApis;
use burst_model::view::Answer;
use burst_model::view::metrics::{self, Reply, Request, Sources};

/// The groups of the user, where somebody asks for them. One may have a comma in its name, so they are taken as they
/// came, a header each.
fn groups(apis: &MetricsApis) -> Vec<String> {
    let Some(_) = apis.policies else { return Vec::new() };
    let groups = host::request_headers("x-remote-group").into_iter();
    groups
        .map(|group| String::from_utf8_lossy(&group).into_owned())
        .collect()
}

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
        groups: &groups(apis),
    };
    let rates = view.rates.borrow();
    let sources = Sources {
        picture: &view.picture.borrow(),
        rates: rates.rates(),
        enforced: &view.enforced.borrow(),
        now: host::now(),
    };
    let Reply { answer, age } = metrics::answer(&view.config, apis, sources, request);
    if let Some((api, age)) = age {
        stats.record_age(api, age);
    }
    Some(answer)
}
