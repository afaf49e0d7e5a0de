//! From the words to the things: every default with its reason, every limit with its refusal.

use super::words::{self, Words};
use super::{
    Api, Artifact, BadConfig, Config, Content, Endpoints, Full, Gate, Header, MetricsApis, Origin, Requests, Sync,
    duration::{self, Written},
    metrics_apis, policies,
};
use crate::kube::{ObjectKind, Resource, Source};
use crate::load::Percent;
use crate::name::{Name, ObjectName};
use crate::order::sort_by;
use crate::upstream::{MappingRule, Upstreams};
use std::fmt::Display;
use std::time::Duration;

/// One HPA sync takes 15 s by default, so asking more often shows little that is new.
const POLL_INTERVAL: Duration = Duration::from_secs(15);
/// The tick is a second; nothing can happen more often.
const LEAST_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// A page of 500 objects comes within tens of milliseconds; five seconds is an API server in trouble.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Below this a network's ordinary jitter looks like an outage.
const LEAST_REQUEST_TIMEOUT: Duration = Duration::from_millis(100);
/// What kubectl and client-go ask for in a page.
const PAGE_SIZE: u32 = 500;
/// A larger page is larger than the 32 MiB that Envoy buffers for a callout, at some 3 KB an object.
const LARGEST_PAGE_SIZE: u32 = 10_000;
/// Four polls missed, and room for the longest backoff: a shorter outage of the API goes unseen.
const MAX_STALENESS: Duration = Duration::from_secs(60);
/// Seed 000: the target load is 80 % of the maximum.
const TARGET_PERCENT: u32 = 80;
/// What every distribution of Kubernetes sets unless it is told otherwise.
const CLUSTER_DOMAIN: &str = "cluster.local";
/// Seed 000 and the original filter.
const HEADER_NAME: &str = "x-burst";
/// Seed 000.
const PREFIX: &str = "/burstmetrics";

impl Config {
    pub(super) fn check(words: Words, artifact: Artifact) -> Result<Self, BadConfig> {
        let origin = Origin::check(&words)?;
        let api = api(&words, &origin)?;
        let content = content(&words, &origin)?;
        let poll_interval = time(
            "poll_interval",
            words.poll_interval.as_deref(),
            POLL_INTERVAL,
            LEAST_POLL_INTERVAL,
        )?;
        let staleness = |default, least| time("max_staleness", words.max_staleness.as_deref(), default, least);
        let sync = Sync::check(
            &words.sync,
            content.sources.len(),
            staleness(MAX_STALENESS, poll_interval)?,
        )?;
        let slowest = match origin {
            Origin::Kubernetes => poll_interval.max(sync.slowest()),
            Origin::Hub { .. } => poll_interval,
        };
        // As old as one read would be too old just before the next.
        let max_staleness = staleness(MAX_STALENESS.max(slowest.saturating_mul(2)), slowest)?;
        let requests = words
            .requests
            .map(|words| Requests::check(words.into_inner(), artifact))
            .transpose()?
            .and_then(Full::new);
        let counting = requests.as_deref().map(Requests::counting);
        let metrics_apis = metrics_apis::check(words.metrics_apis, &content.sources, counting, artifact)?;
        let chain = |apis: &MetricsApis| apis.filter_chain.clone();
        if let Some(taken) = metrics_apis.as_deref().map(chain)
            && requests.as_ref().and_then(|requests| requests.accept.as_ref()) == Some(&taken)
        {
            let reason = format_args!("{taken:?} is that of metrics_apis, where every request is one for those");
            return Err(bad("requests.accept.filter_chain", reason));
        }
        Ok(Self {
            origin,
            api,
            role: words.role.unwrap_or_default(),
            content,
            sync,
            poll_interval,
            page_size: within("page_size", words.page_size.unwrap_or(PAGE_SIZE), 1, LARGEST_PAGE_SIZE)?,
            max_staleness,
            on_stale: words.on_stale.unwrap_or_default(),
            upstreams: upstreams(words.clusters, words.cluster_domain.as_deref())?,
            header: header(words.header, artifact)?,
            endpoints: endpoints(&words.endpoints, artifact)?,
            requests,
            metrics_apis,
        })
    }
}

pub(super) fn bad(key: impl Into<String>, reason: impl Display) -> BadConfig {
    BadConfig::Value {
        key: key.into(),
        reason: reason.to_string(),
    }
}

pub(super) fn time(key: &str, text: Option<&str>, default: Duration, least: Duration) -> Result<Duration, BadConfig> {
    let Some(text) = text else {
        return Ok(default.max(least));
    };
    match duration::parse(text) {
        Ok(time) if time < least => Err(bad(
            key,
            format_args!("{text} is below the least allowed, {}", Written(least)),
        )),
        Ok(time) => Ok(time),
        Err(error) => Err(bad(key, format_args!("{text:?} {error}"))),
    }
}

pub(super) fn within(key: &str, number: u32, least: u32, most: u32) -> Result<u32, BadConfig> {
    if (least..=most).contains(&number) {
        Ok(number)
    } else {
        Err(bad(key, format_args!("{number} is not between {least} and {most}")))
    }
}

/// A text that must not be empty, and must fit into a request's head.
pub(super) fn text(key: &str, text: &str) -> Result<String, BadConfig> {
    if text.is_empty() || text.bytes().any(|b| b.is_ascii_control()) {
        return Err(bad(
            key,
            format_args!("{text:?} must be a text of at least one character, on one line"),
        ));
    }
    Ok(text.into())
}

fn api(words: &Words, origin: &Origin) -> Result<Api, BadConfig> {
    Ok(Api {
        cluster: text("cluster", words.cluster.as_deref().ok_or(BadConfig::NoCluster)?)?,
        authority: text("authority", words.authority.as_deref().unwrap_or(origin.authority()))?,
        timeout: time(
            "request_timeout",
            words.request_timeout.as_deref(),
            REQUEST_TIMEOUT,
            LEAST_REQUEST_TIMEOUT,
        )?,
    })
}

fn content(words: &Words, origin: &Origin) -> Result<Content, BadConfig> {
    let percent = words.target_percent.unwrap_or(TARGET_PERCENT);
    let target = u8::try_from(percent)
        .ok()
        .and_then(Percent::new)
        .ok_or_else(|| bad("target_percent", format_args!("{percent} is not between 1 and 100")))?;
    let namespaces = namespaces(&words.namespaces)?;
    let selected = |selectors: &words::Selectors, reads, resource| Kind {
        reads,
        resource,
        label_selector: selectors.label_selector.clone(),
        field_selector: selectors.field_selector.clone(),
    };
    let mut kinds = vec![
        selected(&words.hpas, ObjectKind::Hpas, Resource::hpas()),
        selected(&words.services, ObjectKind::Services, Resource::services()),
    ];
    match &words.workloads {
        None => kinds.extend([Resource::deployments(), Resource::statefulsets()].map(Kind::workload)),
        Some(workloads) => {
            for (place, workload) in workloads.iter().enumerate() {
                kinds.push(Kind::written(&format!("workloads[{place}]"), workload)?);
            }
        }
    }
    // Only the metrics APIs select by them.
    let labels = words.metrics_apis.is_some();
    let sources = kinds.iter().flat_map(|kind| {
        namespaces
            .iter()
            .map(|namespace| kind.source(namespace.clone(), labels))
    });
    let policies = policies::sources(words.metrics_apis.as_deref(), &namespaces)?;
    let sources = match origin {
        Origin::Kubernetes => sources.chain(policies).collect(),
        Origin::Hub { .. } => Vec::new(),
    };
    Ok(Content { sources, target })
}

/// The namespaces to list in; one `None` for all of them.
fn namespaces(words: &[String]) -> Result<Vec<Option<Name>>, BadConfig> {
    let mut namespaces = Vec::new();
    for (place, word) in words.iter().enumerate() {
        namespaces.push(Some(
            Name::parse(word).map_err(|error| bad(format!("namespaces[{place}]"), error))?,
        ));
    }
    sort_by(&mut namespaces, Ord::cmp);
    namespaces.dedup();
    if namespaces.is_empty() {
        namespaces.push(None);
    }
    Ok(namespaces)
}

/// A kind that is listed, in whichever namespaces.
struct Kind {
    reads: ObjectKind,
    resource: Resource,
    label_selector: Option<String>,
    field_selector: Option<String>,
}

impl Kind {
    fn workload(resource: Resource) -> Self {
        Self {
            reads: ObjectKind::Workloads,
            resource,
            label_selector: None,
            field_selector: None,
        }
    }

    fn written(key: &str, words: &words::Workload) -> Result<Self, BadConfig> {
        let part = |name: &str, value: &str| {
            let ok = !value.is_empty()
                && value
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'));
            let error = || {
                bad(
                    format!("{key}.{name}"),
                    format_args!("{value:?} is not a name of the API"),
                )
            };
            ok.then(|| value.to_owned()).ok_or_else(error)
        };
        let group = if words.group.is_empty() {
            String::new()
        } else {
            part("group", &words.group)?
        };
        let resource = Resource {
            group,
            version: part("version", &words.version)?,
            plural: part("resource", &words.resource)?,
            kind: part("kind", &words.kind)?,
        };
        if [Resource::hpas().plural, Resource::services().plural, "hpas".into()].contains(&resource.plural) {
            let reason = format_args!("{} is read anyway, and is no workload", resource.plural);
            return Err(bad(format!("{key}.resource"), reason));
        }
        let (label_selector, field_selector) = (words.label_selector.clone(), words.field_selector.clone());
        Ok(Self {
            label_selector,
            field_selector,
            ..Self::workload(resource)
        })
    }

    fn source(&self, namespace: Option<Name>, labels: bool) -> Source {
        Source {
            kind: self.reads,
            resource: self.resource.clone(),
            namespace,
            label_selector: self.label_selector.clone().filter(|selector| !selector.is_empty()),
            field_selector: self.field_selector.clone().filter(|selector| !selector.is_empty()),
            keep_labels: labels,
        }
    }
}

fn upstreams(words: Vec<words::Cluster>, domain: Option<&str>) -> Result<Upstreams, BadConfig> {
    let mut rules = Vec::new();
    for (place, word) in words.into_iter().enumerate() {
        let key = |name: &str| format!("clusters[{place}].{name}");
        let service = match word.service {
            None => None,
            Some(service) => Some(
                ObjectName::parse(&service)
                    .map_err(|_| bad(key("service"), format_args!("{service:?} is not namespace/name")))?,
            ),
        };
        rules.push(MappingRule::new(&word.name, service).map_err(|error| bad(key("name"), error))?);
    }
    Ok(Upstreams::new(
        rules,
        &text("cluster_domain", domain.unwrap_or(CLUSTER_DOMAIN))?,
    ))
}

fn header(words: words::Header, artifact: Artifact) -> Result<Header, BadConfig> {
    let gate = match words.when {
        None => None,
        Some(_) if artifact == Artifact::HeaderOnly => return Err(BadConfig::NeedsRequests("header.when")),
        Some(when) => Some(Gate {
            name: header_name("header.when.request_header", &when.request_header)?,
            prefix: when.prefix.unwrap_or_default().into_bytes(),
        }),
    };
    let constant = words.value.map(|value| text("header.value", &value)).transpose()?;
    Ok(Header {
        name: header_name("header.name", words.name.as_deref().unwrap_or(HEADER_NAME))?,
        constant,
        extra_keys: words.extra_keys,
        gate,
        upstream: words.upstream.unwrap_or_default(),
    })
}

/// A field name of RFC 9110, in lower case as Envoy keeps them.
fn header_name(key: &str, name: &str) -> Result<String, BadConfig> {
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(bad(key, format_args!("{name:?} is not the name of a header")));
    }
    Ok(name.to_ascii_lowercase())
}

fn endpoints(words: &words::Endpoints, artifact: Artifact) -> Result<Option<Full<Endpoints>>, BadConfig> {
    match (words.enabled, artifact) {
        (Some(false), _) | (None, Artifact::HeaderOnly) => return Ok(None),
        (Some(true), Artifact::HeaderOnly) => return Err(BadConfig::NeedsRequests("endpoints.enabled")),
        (Some(true) | None, Artifact::Full) => {}
    }
    let prefix = path("endpoints.prefix", words.prefix.as_deref().unwrap_or(PREFIX))?;
    let mut hosts = Vec::new();
    for (place, host) in words.hosts.iter().enumerate() {
        hosts.push(text(&format!("endpoints.hosts[{place}]"), host)?.to_ascii_lowercase());
    }
    Ok(Full::new(Endpoints { prefix, hosts }))
}

/// A path above others, without the slash at its end.
pub(super) fn path(key: &str, prefix: &str) -> Result<String, BadConfig> {
    let is_path = |b: u8| b.is_ascii_graphic() && !b"?#%".contains(&b);
    let whole = prefix.trim_end_matches('/');
    if !whole.starts_with('/') || whole.contains("//") || !whole.bytes().all(is_path) {
        let allowed = "a path such as /burstmetrics, which begins with a slash and is not the slash alone";
        return Err(bad(key, format_args!("{prefix:?} is not {allowed}")));
    }
    Ok(whole.into())
}
