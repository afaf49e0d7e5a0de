//! The written form: the keys as they stand in the JSON, nothing checked but their spelling and their types. The table of
//! docs/configuration.md names the same keys; a test holds the two together.

use super::RequestPath;
use burst_words::{choice, form};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(crate) struct RawConfig {
    pub(crate) cluster: Option<String>,
    pub(crate) authority: Option<String>,
    pub(crate) source: Option<RawSource>,
    pub(crate) hub_prefix: Option<String>,
    pub(crate) role: Option<Role>,
    pub(crate) sync: RawSync,
    pub(crate) poll_interval: Option<String>,
    pub(crate) request_timeout: Option<String>,
    pub(crate) page_size: Option<u32>,
    pub(crate) max_staleness: Option<String>,
    pub(crate) on_stale: Option<OnStale>,
    pub(crate) target_percent: Option<u32>,
    pub(crate) namespaces: Vec<String>,
    pub(crate) hpas: RawSelectors,
    pub(crate) services: RawSelectors,
    pub(crate) workloads: Option<Vec<RawWorkload>>,
    pub(crate) cluster_domain: Option<String>,
    pub(crate) clusters: Vec<RawCluster>,
    pub(crate) header: RawHeader,
    pub(crate) endpoints: RawEndpoints,
    pub(crate) requests: Option<RequestPath<RawRequests>>,
    pub(crate) metrics_apis: Option<RequestPath<RawMetricsApis>>,
}

form!(RawConfig {
    cluster,
    authority,
    source,
    hub_prefix,
    role,
    sync,
    poll_interval,
    request_timeout,
    page_size,
    max_staleness,
    on_stale,
    target_percent,
    namespaces,
    hpas,
    services,
    workloads,
    cluster_domain,
    clusters,
    header,
    endpoints,
    requests,
    metrics_apis,
});

/// Whom the picture is from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RawSource {
    #[default]
    Kubernetes,
    Hub,
}

choice!(RawSource { "kubernetes" => Kubernetes, "hub" => Hub });

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RawSelectors {
    pub(crate) label_selector: Option<String>,
    pub(crate) field_selector: Option<String>,
}

form!(RawSelectors {
    label_selector,
    field_selector
});

#[derive(Debug, Default)]
pub(crate) struct RawWorkload {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) resource: String,
    pub(crate) kind: String,
    pub(crate) label_selector: Option<String>,
    pub(crate) field_selector: Option<String>,
}

form!(RawWorkload {
    group,
    version: required,
    resource: required,
    kind: required,
    label_selector,
    field_selector,
});

#[derive(Debug, Default)]
pub(crate) struct RawCluster {
    pub(crate) name: String,
    pub(crate) service: Option<String>,
}

form!(RawCluster {
    name: required,
    service
});

#[derive(Debug, Default)]
pub(crate) struct RawHeader {
    pub(crate) name: Option<String>,
    pub(crate) value: Option<String>,
    pub(crate) extra_keys: Vec<ExtraKey>,
    pub(crate) when: Option<RawWhen>,
    pub(crate) upstream: Option<UpstreamHeader>,
}

form!(RawHeader {
    name,
    value,
    extra_keys,
    when,
    upstream
});

#[derive(Debug, Default)]
pub(crate) struct RawWhen {
    pub(crate) request_header: String,
    pub(crate) prefix: Option<String>,
}

form!(RawWhen {
    request_header: required,
    prefix
});

#[derive(Debug, Default)]
pub(crate) struct RawEndpoints {
    pub(crate) enabled: Option<bool>,
    pub(crate) prefix: Option<String>,
    pub(crate) hosts: Vec<String>,
}

form!(RawEndpoints { enabled, prefix, hosts });

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RawSync {
    pub(crate) mode: Option<SyncMode>,
    pub(crate) window: Option<String>,
    pub(crate) workload_window: Option<String>,
    pub(crate) max_windows: Option<u32>,
}

form!(RawSync {
    mode,
    window,
    workload_window,
    max_windows
});

/// How the lists are kept up to date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// Each is read whole every `poll_interval`.
    List,
    /// Each is read whole once, and what changes is watched.
    #[default]
    Watch,
}

choice!(SyncMode { "list" => List, "watch" => Watch });

#[derive(Debug, Default)]
pub(crate) struct RawRequests {
    pub(crate) window: Option<String>,
    pub(crate) in_flight: Option<bool>,
    pub(crate) report_interval: Option<String>,
    pub(crate) hub: Option<RawHub>,
    pub(crate) accept: Option<RawAccept>,
}

form!(RawRequests {
    window,
    in_flight,
    report_interval,
    hub,
    accept
});

#[derive(Debug, Default)]
pub(crate) struct RawHub {
    pub(crate) cluster: String,
    pub(crate) authority: Option<String>,
}

form!(RawHub {
    cluster: required,
    authority
});

#[derive(Debug, Default)]
pub(crate) struct RawAccept {
    pub(crate) filter_chain: String,
}

form!(RawAccept { filter_chain: required });

#[derive(Debug, Default)]
pub(crate) struct RawMetricsApis {
    pub(crate) filter_chain: String,
    pub(crate) insecure_loopback_demo: Option<bool>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) unknown_external: Option<UnknownExternal>,
    pub(crate) authorization: Option<Authorization>,
    pub(crate) fallback: RawFallback,
    pub(crate) policies: Option<RawPolicies>,
}

form!(RawMetricsApis {
    filter_chain: required,
    insecure_loopback_demo,
    labels,
    unknown_external,
    authorization,
    fallback,
    policies
});

#[derive(Debug, Default)]
pub(crate) struct RawFallback {
    pub(crate) custom: Option<RawAdapter>,
    pub(crate) external: Option<RawAdapter>,
}

form!(RawFallback { custom, external });

#[derive(Debug, Default)]
pub(crate) struct RawAdapter {
    pub(crate) cluster: String,
    pub(crate) authority: Option<String>,
}

form!(RawAdapter {
    cluster: required,
    authority
});

#[derive(Debug, Default)]
pub(crate) struct RawPolicies {
    pub(crate) default: Option<burst_policy::DefaultDecision>,
    pub(crate) root_namespace: Option<String>,
    pub(crate) given: Vec<burst_policy::raw::RawInlinePolicy>,
}

form!(RawPolicies {
    default,
    root_namespace,
    given
});

/// Whether a proxy's threads may poll.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// One of them does, as the lease decides.
    #[default]
    Auto,
    /// None does: a bootstrap singleton of the same `vm_id` polls.
    Reader,
}

choice!(Role { "auto" => Auto, "reader" => Reader });

/// What becomes of the header when the picture is too old.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnStale {
    /// It is left out.
    #[default]
    Drop,
    /// It says `stale=true`.
    Mark,
    /// It stays as it was.
    Keep,
}

choice!(OnStale { "drop" => Drop, "mark" => Mark, "keep" => Keep });

/// A key that the header carries after `max-load`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtraKey {
    /// `as-of`: when the cluster was last read, in Unix seconds.
    AsOf,
    /// `stale`: `true` or `false`.
    Stale,
}

choice!(ExtraKey { "as-of" => AsOf, "stale" => Stale });

/// What becomes of a header of the same name that the upstream sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UpstreamHeader {
    /// It is replaced, and removed where the filter has nothing to say.
    #[default]
    Replace,
    /// It stays, and the filter adds none.
    Keep,
}

choice!(UpstreamHeader { "replace" => Replace, "keep" => Keep });

/// The answer to a question for an external metric that there is none of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownExternal {
    /// 404, which an HPA shows in its events.
    #[default]
    NotFound,
    /// A list without items, as of an adapter that knows no names.
    Empty,
}

choice!(UnknownExternal { "not_found" => NotFound, "empty" => Empty });

/// Who decides whether a user may read a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authorization {
    /// kube-apiserver, before it passes a request on, and nobody after it.
    #[default]
    ApiServer,
    /// The same, and it is asked once more by the proxy.
    SubjectAccessReview,
}

choice!(Authorization { "api_server" => ApiServer, "subject_access_review" => SubjectAccessReview });
