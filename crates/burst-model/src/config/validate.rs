//! Turns a [`RawConfig`] into a [`Config`]: defaults and limits, with the reason for each.

use super::part::{Hashes, Part};
use super::peers::OwnClusters;
use super::raw::{self, RawConfig};
use super::value::{header_name, invalid, path, text, time, within};
use super::{
    ApiConfig, Artifact, Config, ConfigError, Content, DegradedConfig, EndpointsConfig, HeaderCondition, HeaderConfig,
    MetricsApisConfig, OrcaConfig, Origin, OverflowConfig, PeersConfig, RequestPath, RequestsConfig, RetryAfterConfig,
    SyncConfig, metrics_apis, overflow, policies,
};
use crate::kube::{KeptFields, ObjectKind, Resource, Source};
use crate::load::Percent;
use crate::name::{Name, ObjectName};
use crate::order::sort_by;
use crate::signals::{Signal, SignalSet};
use crate::upstream::{MappingRule, Upstreams};
use std::time::Duration;

/// The HPA controller syncs every 15 s by default, so polling more often shows little that is new.
const POLL_INTERVAL: Duration = Duration::from_secs(15);
/// The tick of the filter is one second.
const MIN_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// A page of 500 objects takes tens of milliseconds. An API server that needs five seconds is in trouble.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// With a shorter timeout the ordinary jitter of a network looks like an outage.
const MIN_REQUEST_TIMEOUT: Duration = Duration::from_millis(100);
/// The page size of kubectl and client-go.
const PAGE_SIZE: u32 = 500;
/// At about 3 KB an object, a larger page would exceed the 32 MiB that Envoy buffers for a callout.
const MAX_PAGE_SIZE: u32 = 10_000;
/// Four missed polls, or the longest backoff. Clients do not notice a shorter outage of the API.
const MAX_STALENESS: Duration = Duration::from_secs(60);
/// The target load of the original filter, in percent of the maximum.
const TARGET_PERCENT: u32 = 80;
/// The default of every Kubernetes distribution.
const CLUSTER_DOMAIN: &str = "cluster.local";
/// The header of the original filter.
const HEADER_NAME: &str = "x-burst";
/// The path of the original filter.
const PREFIX: &str = "/burstmetrics";

impl Config {
    pub(super) fn validate(raw: RawConfig, artifact: Artifact) -> Result<Self, ConfigError> {
        let origin = Origin::check(&raw)?;
        let api = api(&raw, &origin)?;
        let (content, policy_sources) = content(&raw, &origin)?;
        let poll_interval = time(
            "poll_interval",
            raw.poll_interval.as_deref(),
            POLL_INTERVAL,
            MIN_POLL_INTERVAL,
        )?;
        let staleness = |default, least| time("max_staleness", raw.max_staleness.as_deref(), default, least);
        let sync = SyncConfig::check(
            &raw.sync,
            content.sources.len() + policy_sources.len(),
            staleness(MAX_STALENESS, poll_interval)?,
            artifact,
        )?;
        let longest_update_gap = match origin {
            Origin::Kubernetes => poll_interval.max(sync.longest_update_gap()),
            Origin::Hub { .. } => poll_interval,
        };
        // With a maximum of one interval the snapshot would be stale just before each read.
        let max_staleness = staleness(
            MAX_STALENESS.max(longest_update_gap.saturating_mul(2)),
            longest_update_gap,
        )?;
        let requests = raw
            .requests
            .map(|raw| RequestsConfig::check(raw.into_inner(), artifact))
            .transpose()?
            .and_then(RequestPath::new);
        let overflow = raw
            .overflow
            .map(|raw| OverflowConfig::check(raw.into_inner(), artifact))
            .transpose()?
            .and_then(RequestPath::new);
        if raw.metrics_apis.is_none()
            && requests
                .as_deref()
                .is_some_and(|requests| requests.pods && requests.hub.is_none())
        {
            let reason = "has no effect without metrics_apis, which serve the metrics of pods, or requests.hub, which a proxy \
                          counts for";
            return Err(invalid("requests.pods", reason));
        }
        let counting = requests.as_deref().map(RequestsConfig::counting);
        let metrics_apis = metrics_apis::check(raw.metrics_apis, &content.sources, counting, artifact)?;
        let chain = |apis: &MetricsApisConfig| apis.filter_chain.clone();
        if let Some(taken) = metrics_apis.as_deref().map(chain)
            && requests.as_ref().and_then(|requests| requests.accept.as_ref()) == Some(&taken)
        {
            let reason =
                format_args!("{taken:?} is the filter chain of metrics_apis, which serves only the metrics APIs");
            return Err(invalid("requests.accept.filter_chain", reason));
        }
        let header = header(raw.header, artifact)?;
        let orca = raw.orca.as_ref();
        let orca = orca.map(|raw| OrcaConfig::check(raw, &header.name, artifact));
        let own_clusters = OwnClusters {
            source: &api.cluster,
            reports: requests
                .as_deref()
                .and_then(|requests| Some(requests.hub.as_ref()?.cluster.as_str())),
        };
        let peers = raw
            .peers
            .map(|raw| PeersConfig::check(raw.into_inner(), own_clusters, artifact))
            .transpose()?
            .and_then(RequestPath::new);
        let mut config = Self {
            origin,
            api,
            role: raw.role.unwrap_or_default(),
            content,
            policy_sources,
            sync,
            poll_interval,
            page_size: within("page_size", raw.page_size.unwrap_or(PAGE_SIZE), 1, MAX_PAGE_SIZE)?,
            max_staleness,
            on_stale: raw.on_stale.unwrap_or_default(),
            upstreams: upstreams(raw.clusters, raw.cluster_domain.as_deref())?,
            degraded: raw.degraded.as_ref().map(DegradedConfig::check).transpose()?,
            retry_after: raw.retry_after.as_ref().map(RetryAfterConfig::check).transpose()?,
            header,
            orca: orca.transpose()?,
            endpoints: endpoints(&raw.endpoints, artifact)?,
            peers,
            requests,
            metrics_apis,
            overflow,
            part: Part::default(),
            hashes: Hashes::default(),
        };
        config.hashes = Hashes::of(&config);
        Ok(config)
    }
}

fn api(raw: &RawConfig, origin: &Origin) -> Result<ApiConfig, ConfigError> {
    Ok(ApiConfig {
        cluster: text("cluster", raw.cluster.as_deref().ok_or(ConfigError::MissingCluster)?)?,
        authority: text("authority", raw.authority.as_deref().unwrap_or(origin.authority()))?,
        timeout: time(
            "request_timeout",
            raw.request_timeout.as_deref(),
            REQUEST_TIMEOUT,
            MIN_REQUEST_TIMEOUT,
        )?,
    })
}

/// Returns the lists and the target of the snapshot, and the lists of policy objects.
fn content(raw: &RawConfig, origin: &Origin) -> Result<(Content, Vec<Source>), ConfigError> {
    let percent = raw.target_percent.unwrap_or(TARGET_PERCENT);
    let target = u8::try_from(percent)
        .ok()
        .and_then(Percent::new)
        .ok_or_else(|| invalid("target_percent", format_args!("{percent} is not between 1 and 100")))?;
    let namespaces = namespaces(&raw.namespaces)?;
    let selected = |selectors: &raw::RawSelectors, reads, resource| Kind {
        reads,
        resource,
        label_selector: selectors.label_selector.clone(),
        field_selector: selectors.field_selector.clone(),
    };
    let mut kinds = vec![
        selected(&raw.hpas, ObjectKind::Hpas, Resource::hpas()),
        selected(&raw.services, ObjectKind::Services, Resource::services()),
    ];
    match &raw.workloads {
        None => kinds.extend([Resource::deployments(), Resource::statefulsets()].map(Kind::workload)),
        Some(workloads) => {
            for (index, workload) in workloads.iter().enumerate() {
                kinds.push(Kind::written(&format!("workloads[{index}]"), workload)?);
            }
        }
    }
    // A proxy that only counts for a hub needs to know no pods.
    if raw.metrics_apis.is_some()
        && raw
            .requests
            .as_deref()
            .is_some_and(|requests| requests.pods == Some(true))
    {
        kinds.extend([
            Kind::all(ObjectKind::EndpointSlices, Resource::endpoint_slices()),
            Kind::all(ObjectKind::Pods, Resource::pods()),
        ]);
    }
    let header_keys = raw.header.extra_keys.iter().filter_map(|key| key.signal());
    // The header-only module shows no fields. It keeps them for the full module beside it, which may have the same settings.
    let fields = raw.endpoints.extra_fields.iter().copied();
    let degraded = raw.degraded.iter().map(|_| Signal::Demand);
    let retry_after = raw.retry_after.iter().flat_map(|_| [Signal::Demand, Signal::State]);
    let overflow = raw.overflow.iter().flat_map(|_| overflow::SIGNALS);
    let signals = header_keys.chain(fields).chain(degraded).chain(retry_after);
    let signals: SignalSet = signals.chain(overflow).collect();
    let kept = KeptFields {
        // Only the metrics APIs select by labels.
        labels: raw.metrics_apis.is_some(),
        signals,
    };
    let sources = kinds
        .iter()
        .flat_map(|kind| namespaces.iter().map(|namespace| kind.source(namespace.clone(), kept)));
    let policies = policies::sources(raw.metrics_apis.as_deref(), &namespaces)?;
    let (sources, policies) = match origin {
        Origin::Kubernetes => (sources.collect(), policies),
        Origin::Hub { .. } => (Vec::new(), Vec::new()),
    };
    let content = Content {
        sources,
        target,
        signals,
    };
    Ok((content, policies))
}

/// Returns the namespaces to list; a single `None` stands for all.
fn namespaces(raw: &[String]) -> Result<Vec<Option<Name>>, ConfigError> {
    let mut namespaces = Vec::new();
    for (index, word) in raw.iter().enumerate() {
        namespaces.push(Some(
            Name::parse(word).map_err(|error| invalid(format!("namespaces[{index}]"), error))?,
        ));
    }
    sort_by(&mut namespaces, Ord::cmp);
    namespaces.dedup();
    if namespaces.is_empty() {
        namespaces.push(None);
    }
    Ok(namespaces)
}

/// A resource to list, in any namespace.
struct Kind {
    reads: ObjectKind,
    resource: Resource,
    label_selector: Option<String>,
    field_selector: Option<String>,
}

impl Kind {
    fn all(reads: ObjectKind, resource: Resource) -> Self {
        Self {
            reads,
            resource,
            label_selector: None,
            field_selector: None,
        }
    }

    fn workload(resource: Resource) -> Self {
        Self::all(ObjectKind::Workloads, resource)
    }

    fn written(key: &str, raw: &raw::RawWorkload) -> Result<Self, ConfigError> {
        let part = |name: &str, value: &str| {
            let ok = !value.is_empty()
                && value
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'));
            let error = || {
                invalid(
                    format!("{key}.{name}"),
                    format_args!("{value:?} is not a valid name in the Kubernetes API"),
                )
            };
            ok.then(|| value.to_owned()).ok_or_else(error)
        };
        let group = if raw.group.is_empty() {
            String::new()
        } else {
            part("group", &raw.group)?
        };
        let resource = Resource {
            group,
            version: part("version", &raw.version)?,
            plural: part("resource", &raw.resource)?,
            kind: part("kind", &raw.kind)?,
        };
        if [Resource::hpas().plural, Resource::services().plural, "hpas".into()].contains(&resource.plural) {
            let reason = format_args!("{} is always read, and is not a workload", resource.plural);
            return Err(invalid(format!("{key}.resource"), reason));
        }
        let (label_selector, field_selector) = (raw.label_selector.clone(), raw.field_selector.clone());
        Ok(Self {
            label_selector,
            field_selector,
            ..Self::workload(resource)
        })
    }

    fn source(&self, namespace: Option<Name>, kept: KeptFields) -> Source {
        Source {
            kind: self.reads,
            resource: self.resource.clone(),
            namespace,
            label_selector: self.label_selector.clone().filter(|selector| !selector.is_empty()),
            field_selector: self.field_selector.clone().filter(|selector| !selector.is_empty()),
            kept,
        }
    }
}

fn upstreams(raw: Vec<raw::RawCluster>, domain: Option<&str>) -> Result<Upstreams, ConfigError> {
    let mut rules = Vec::new();
    for (index, word) in raw.into_iter().enumerate() {
        let key = |name: &str| format!("clusters[{index}].{name}");
        let service = match word.service {
            None => None,
            Some(service) => Some(
                ObjectName::parse(&service)
                    .map_err(|_| invalid(key("service"), format_args!("{service:?} is not namespace/name")))?,
            ),
        };
        rules.push(MappingRule::new(&word.name, service).map_err(|error| invalid(key("name"), error))?);
    }
    Ok(Upstreams::new(
        rules,
        &text("cluster_domain", domain.unwrap_or(CLUSTER_DOMAIN))?,
    ))
}

fn header(raw: raw::RawHeader, artifact: Artifact) -> Result<HeaderConfig, ConfigError> {
    let condition = match raw.when {
        None => None,
        Some(_) if artifact == Artifact::HeaderOnly => return Err(ConfigError::NeedsFullModule("header.when")),
        Some(when) => Some(HeaderCondition {
            name: header_name("header.when.request_header", &when.request_header)?,
            prefix: when.prefix.unwrap_or_default().into_bytes(),
        }),
    };
    let constant = raw.value.map(|value| text("header.value", &value)).transpose()?;
    Ok(HeaderConfig {
        name: header_name("header.name", raw.name.as_deref().unwrap_or(HEADER_NAME))?,
        constant,
        extra_keys: raw.extra_keys,
        condition,
        upstream: raw.upstream.unwrap_or_default(),
    })
}

fn endpoints(raw: &raw::RawEndpoints, artifact: Artifact) -> Result<Option<RequestPath<EndpointsConfig>>, ConfigError> {
    match (raw.enabled, artifact) {
        (_, Artifact::HeaderOnly) if raw.page => return Err(ConfigError::NeedsFullModule("endpoints.page")),
        (Some(false), Artifact::Full) if raw.page => {
            let reason = "true needs the endpoints, and endpoints.enabled is false";
            return Err(invalid("endpoints.page", reason));
        }
        (Some(false), _) | (None, Artifact::HeaderOnly) => return Ok(None),
        (Some(true), Artifact::HeaderOnly) => return Err(ConfigError::NeedsFullModule("endpoints.enabled")),
        (Some(true) | None, Artifact::Full) => {}
    }
    let prefix = path("endpoints.prefix", raw.prefix.as_deref().unwrap_or(PREFIX))?;
    let mut hosts = Vec::new();
    for (index, host) in raw.hosts.iter().enumerate() {
        hosts.push(text(&format!("endpoints.hosts[{index}]"), host)?.to_ascii_lowercase());
    }
    Ok(RequestPath::new(EndpointsConfig {
        prefix,
        hosts,
        page: raw.page,
        extra_fields: raw.extra_fields.iter().copied().collect(),
    }))
}
