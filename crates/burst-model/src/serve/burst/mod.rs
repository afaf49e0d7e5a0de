//! The endpoints `/burstmetrics/…`. A 503 says whether the cluster was never read or the snapshot is too old.

mod clusters;
mod path;
mod query;
mod waiting;

pub use waiting::{WaitingRequest, too_many_waiting};

use super::cache::{Freshness, ServingCache};
use super::format::{Format, Rendered, Rows};
use super::header;
use super::local_reply::{LocalReply, not_modified};
use super::page;
use crate::config::{Config, EndpointsConfig, Origin};
use crate::confirmation::{self, Confirmation};
use crate::index::{HPAS, SERVICES};
use crate::kube::ObjectKind;
use crate::order::sort_by;
use crate::peers::CLUSTER_HEADER;
use crate::time::Time;
use path::{BurstPath, InvalidPath};
use query::BurstView;
use std::rc::Rc;
use std::time::Duration;

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json; charset=utf-8";

/// What happens to a request under the prefix.
#[derive(Debug)]
pub enum BurstReply {
    /// It is answered now.
    Now(LocalReply),
    /// It waits for a change.
    Waiting(WaitingRequest),
}

/// A request that may be for the endpoints. The shell fills it in only if [`is_own`] accepts the path.
#[derive(Clone, Copy, Debug)]
pub struct BurstRequest<'a> {
    /// `:method`.
    pub method: &'a [u8],
    /// `:path`, with its query.
    pub path: &'a [u8],
    /// `:authority`.
    pub host: &'a [u8],
    /// `accept`. The shell fills it in only if [`EndpointsConfig::page`] is on.
    pub accept: Option<&'a [u8]>,
    /// `if-none-match`.
    pub if_none_match: Option<&'a [u8]>,
    /// When the request was received.
    pub now: Time,
}

/// Returns whether a path is under the prefix. For other requests, the filter checks nothing else.
#[must_use]
pub fn is_own(endpoints: &EndpointsConfig, path: &[u8]) -> bool {
    path.strip_prefix(endpoints.prefix.as_bytes())
        .is_some_and(|rest| matches!(rest.first(), None | Some(b'/' | b'?')))
}

/// Answers a request under the prefix, or lets it wait. `None` if the path or the host is not the endpoints', so that the
/// request continues to its upstream.
pub fn answer(
    config: &Config,
    endpoints: &EndpointsConfig,
    cache: &mut ServingCache,
    request: BurstRequest<'_>,
) -> Option<BurstReply> {
    if !is_own(endpoints, request.path) || !is_own_host(endpoints, request.host) {
        return None;
    }
    let rest = request.path.get(endpoints.prefix.len()..).unwrap_or_default();
    if endpoints.page && page::is_wanted(request.method, rest, request.accept) {
        return Some(BurstReply::Now(page::reply(request.if_none_match)));
    }
    let target = path::parse(rest);
    let reply = match &target {
        Err(InvalidPath::TooLong) => text(414, "the path is too long\n"),
        Err(InvalidPath::NotText) => text(400, "the path is not UTF-8 after percent-decoding\n"),
        Err(InvalidPath::Malformed) => not_found(config, endpoints),
        Ok(target) if !kinds(config).any(|kind| kind == target.kind()) => not_found(config, endpoints),
        Ok(_) if !matches!(request.method, b"GET" | b"HEAD") => {
            text(405, "only GET and HEAD are answered here\n").with("allow", "GET, HEAD")
        }
        Ok(target) => match query::parse(rest, target, endpoints.extra_fields, config.peers.as_deref()) {
            Err(error) => text(400, format!("{error}\n")),
            Ok(query) => return Some(waiting::answer(config, cache, target, request, query)),
        },
    };
    Some(BurstReply::Now(reply))
}

/// The current answer to a request for a target.
fn answer_target(
    config: &Config,
    cache: &mut ServingCache,
    target: &BurstPath<'_>,
    view: &BurstView,
    if_none_match: Option<&[u8]>,
) -> LocalReply {
    unavailable(config, cache)
        .or_else(|| match view {
            BurstView::OwnCluster(format) => own_cluster(config, cache, target, format.as_ref(), if_none_match),
            BurstView::AllClusters(format) => clusters::find(config, cache, target, *format, if_none_match),
        })
        .unwrap_or_else(|| LocalReply::empty(204))
}

fn own_cluster(
    config: &Config,
    cache: &mut ServingCache,
    target: &BurstPath<'_>,
    format: Option<&Format>,
    if_none_match: Option<&[u8]>,
) -> Option<LocalReply> {
    find(cache, target, format, if_none_match)
        .or_else(|| unreadable(config, cache, target))
        .or_else(|| no_rows(cache, target, format?, if_none_match))
}

/// Compares the host without its port.
fn is_own_host(endpoints: &EndpointsConfig, host: &[u8]) -> bool {
    let digits = host.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let name = match host.split_at_checked(host.len() - digits) {
        Some(([name @ .., b':'], _)) => name,
        _ => host,
    };
    endpoints.hosts.is_empty()
        || endpoints
            .hosts
            .iter()
            .any(|own| own.as_bytes().eq_ignore_ascii_case(name))
}

/// The kinds that are served, by their names in the path. A hub serves only Services, so a spoke does too.
fn kinds(config: &Config) -> impl Iterator<Item = &str> {
    let joined = match config.origin {
        Origin::Kubernetes => Some(HPAS),
        Origin::Hub { .. } => None,
    };
    let workloads = config
        .content
        .sources
        .iter()
        .filter(|source| source.kind == ObjectKind::Workloads);
    [SERVICES]
        .into_iter()
        .chain(joined)
        .chain(workloads.map(|source| source.resource.plural.as_str()))
}

fn not_found(config: &Config, endpoints: &EndpointsConfig) -> LocalReply {
    let mut kinds: Vec<_> = kinds(config).collect();
    sort_by(&mut kinds, Ord::cmp);
    kinds.dedup();
    let (prefix, kinds) = (&endpoints.prefix, kinds.join(", "));
    let ask = format!("ask for {prefix}/KIND or {prefix}/KIND/NAMESPACE/NAME, where KIND is");
    text(
        404,
        match config.origin {
            Origin::Kubernetes => format!("{ask} one of {kinds}\n"),
            Origin::Hub { .. } => format!("{ask} {kinds}: this proxy reads a hub, which serves nothing else\n"),
        },
    )
}

fn unavailable(config: &Config, cache: &ServingCache) -> Option<LocalReply> {
    let by = match config.origin {
        Origin::Kubernetes => "",
        Origin::Hub { .. } => " by the hub",
    };
    let body = match cache.freshness() {
        Freshness::Fresh => return None,
        Freshness::Unsynced => format!("not synced yet: {} was never read in full\n", config.origin),
        Freshness::Stale(age) => {
            let (age, limit) = (age.as_secs(), config.max_staleness.as_secs());
            format!("too stale: the Kubernetes API was last read{by} {age} s ago, and {limit} s are allowed\n")
        }
    };
    Some(service_unavailable(config, body))
}

/// Adds the headers that say which cluster this is, if it has a name, and when it was last read. A spoke counts the age from
/// then. `waited` is for how long the request has waited, if it asked for that.
fn confirm(
    reply: LocalReply,
    config: &Config,
    cache: &ServingCache,
    now: Time,
    waited: Option<Duration>,
) -> LocalReply {
    let text = |at| {
        let confirmation = Confirmation::new(at, now);
        let confirmation = waited.map_or(confirmation, |waited| confirmation.with_wait(waited));
        confirmation.to_text()
    };
    let value = cache.as_of().map_or_else(|| confirmation::NEVER.into(), text);
    let reply = reply.with(confirmation::CONFIRMED_HEADER, value);
    match config.peers.as_deref() {
        None => reply,
        Some(peers) => reply.with(CLUSTER_HEADER, &peers.own_name),
    }
}

/// The filter notices within seconds that the API server is back, so clients and spokes should not wait for longer.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(5);

fn service_unavailable(config: &Config, body: String) -> LocalReply {
    let retry_after = config.poll_interval.min(MAX_RETRY_AFTER);
    text(503, body).with("retry-after", retry_after.as_secs().to_string())
}

/// The reply in place of a bulk reply if too many bulk replies are in flight.
#[must_use]
pub fn busy(bulk: &LocalReply) -> LocalReply {
    let answer = text(503, "too many bulk replies are in flight: retry in a second\n");
    let mut answer = answer.with("retry-after", "1");
    let confirmed = bulk
        .headers
        .iter()
        .filter(|(name, _)| *name == confirmation::CONFIRMED_HEADER);
    answer.headers.extend(confirmed.cloned());
    answer
}

fn find(
    cache: &mut ServingCache,
    target: &BurstPath<'_>,
    format: Option<&Format>,
    if_none_match: Option<&[u8]>,
) -> Option<LocalReply> {
    match (target, format) {
        (BurstPath::Bulk { kind }, None) => {
            let bulk = cache.bulk_body(kind)?;
            not_modified(bulk.etag(), if_none_match).or_else(|| Some(bulk_reply(bulk.etag(), JSON, bulk.body())))
        }
        (BurstPath::Bulk { kind }, Some(format)) => {
            cache.section(kind).filter(|section| !section.is_empty())?;
            formatted_bulk(cache, kind, format, if_none_match)
        }
        (BurstPath::Single { kind, name }, None) => {
            let entry = cache.section(kind)?.find(name)?;
            Some(text(200, header::value(&entry)))
        }
        (BurstPath::Single { kind, name }, Some(format)) => {
            let entry = cache.section(kind)?.find(name)?;
            let Rendered { content_type, body } = format.render(kind, &Rows::One(entry), cache.as_of()?);
            Some(LocalReply::new(200, content_type, body.into_bytes()))
        }
    }
}

/// The reply in a format if a kind has no rows: pollers expect a document, and take 204 for a failure.
fn no_rows(
    cache: &mut ServingCache,
    target: &BurstPath<'_>,
    format: &Format,
    if_none_match: Option<&[u8]>,
) -> Option<LocalReply> {
    match target {
        BurstPath::Bulk { kind } => formatted_bulk(cache, kind, format, if_none_match),
        BurstPath::Single { .. } => None,
    }
}

fn formatted_bulk(
    cache: &mut ServingCache,
    kind: &str,
    format: &Format,
    if_none_match: Option<&[u8]>,
) -> Option<LocalReply> {
    let etag = cache.formatted_etag(kind, format)?;
    not_modified(&etag, if_none_match).or_else(|| {
        let bulk = cache.formatted_body(kind, format)?;
        Some(bulk_reply(&etag, bulk.content_type, bulk.body.clone()))
    })
}

/// The reply if nothing was found, but a list that was not read may contain it.
fn unreadable(config: &Config, cache: &ServingCache, target: &BurstPath<'_>) -> Option<LocalReply> {
    let namespace = match target {
        BurstPath::Bulk { .. } => None,
        BurstPath::Single { name, .. } => name.split_once('/').map(|(namespace, _)| namespace),
    };
    let list = cache.unread_list(config, target.kind(), namespace)?;
    Some(service_unavailable(
        config,
        format!("not readable: the Kubernetes API does not list {list}\n"),
    ))
}

fn text(status: u16, body: impl Into<String>) -> LocalReply {
    LocalReply::new(status, TEXT, body.into().into_bytes())
}

fn bulk_reply(etag: &str, content_type: &str, body: Rc<[u8]>) -> LocalReply {
    LocalReply::new(200, content_type, body).with("etag", etag)
}

#[cfg(test)]
mod tests;
