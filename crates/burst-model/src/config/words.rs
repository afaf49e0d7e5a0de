//! The written form: the keys as they stand in the JSON, nothing checked but their spelling and their types. The table of
//! docs/configuration.md names the same keys; a test holds the two together.

use super::Full;
use burst_words::{choice, form};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(crate) struct Words {
    pub(crate) cluster: Option<String>,
    pub(crate) authority: Option<String>,
    pub(crate) source: Option<Source>,
    pub(crate) hub_prefix: Option<String>,
    pub(crate) role: Option<Role>,
    pub(crate) sync: Sync,
    pub(crate) poll_interval: Option<String>,
    pub(crate) request_timeout: Option<String>,
    pub(crate) page_size: Option<u32>,
    pub(crate) max_staleness: Option<String>,
    pub(crate) on_stale: Option<OnStale>,
    pub(crate) target_percent: Option<u32>,
    pub(crate) namespaces: Vec<String>,
    pub(crate) hpas: Selectors,
    pub(crate) services: Selectors,
    pub(crate) workloads: Option<Vec<Workload>>,
    pub(crate) cluster_domain: Option<String>,
    pub(crate) clusters: Vec<Cluster>,
    pub(crate) header: Header,
    pub(crate) endpoints: Endpoints,
    pub(crate) requests: Option<Full<Requests>>,
    pub(crate) metrics_apis: Option<Full<MetricsApis>>,
}

form!(Words {
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
pub(crate) enum Source {
    #[default]
    Kubernetes,
    Hub,
}

choice!(Source { "kubernetes" => Kubernetes, "hub" => Hub });

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Selectors {
    pub(crate) label_selector: Option<String>,
    pub(crate) field_selector: Option<String>,
}

form!(Selectors {
    label_selector,
    field_selector
});

#[derive(Debug, Default)]
pub(crate) struct Workload {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) resource: String,
    pub(crate) kind: String,
    pub(crate) label_selector: Option<String>,
    pub(crate) field_selector: Option<String>,
}

form!(Workload {
    group,
    version: required,
    resource: required,
    kind: required,
    label_selector,
    field_selector,
});

#[derive(Debug, Default)]
pub(crate) struct Cluster {
    pub(crate) name: String,
    pub(crate) service: Option<String>,
}

form!(Cluster {
    name: required,
    service
});

#[derive(Debug, Default)]
pub(crate) struct Header {
    pub(crate) name: Option<String>,
    pub(crate) value: Option<String>,
    pub(crate) extra_keys: Vec<ExtraKey>,
    pub(crate) when: Option<When>,
    pub(crate) upstream: Option<Upstream>,
}

form!(Header {
    name,
    value,
    extra_keys,
    when,
    upstream
});

#[derive(Debug, Default)]
pub(crate) struct When {
    pub(crate) request_header: String,
    pub(crate) prefix: Option<String>,
}

form!(When {
    request_header: required,
    prefix
});

#[derive(Debug, Default)]
pub(crate) struct Endpoints {
    pub(crate) enabled: Option<bool>,
    pub(crate) prefix: Option<String>,
    pub(crate) hosts: Vec<String>,
}

form!(Endpoints { enabled, prefix, hosts });

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sync {
    pub(crate) mode: Option<SyncMode>,
    pub(crate) window: Option<String>,
    pub(crate) workload_window: Option<String>,
    pub(crate) max_windows: Option<u32>,
}

form!(Sync {
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
pub(crate) struct Requests {
    pub(crate) window: Option<String>,
    pub(crate) in_flight: Option<bool>,
    pub(crate) report_interval: Option<String>,
    pub(crate) hub: Option<Hub>,
    pub(crate) accept: Option<Accept>,
}

form!(Requests {
    window,
    in_flight,
    report_interval,
    hub,
    accept
});

#[derive(Debug, Default)]
pub(crate) struct Hub {
    pub(crate) cluster: String,
    pub(crate) authority: Option<String>,
}

form!(Hub {
    cluster: required,
    authority
});

#[derive(Debug, Default)]
pub(crate) struct Accept {
    pub(crate) filter_chain: String,
}

form!(Accept { filter_chain: required });

#[derive(Debug, Default)]
pub(crate) struct MetricsApis {
    pub(crate) filter_chain: String,
    pub(crate) insecure_loopback_demo: Option<bool>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) unknown_external: Option<UnknownExternal>,
    pub(crate) authorization: Option<Authorization>,
    pub(crate) fallback: Fallback,
    pub(crate) policies: Option<Policies>,
}

form!(MetricsApis {
    filter_chain: required,
    insecure_loopback_demo,
    labels,
    unknown_external,
    authorization,
    fallback,
    policies
});

#[derive(Debug, Default)]
pub(crate) struct Fallback {
    pub(crate) custom: Option<Adapter>,
    pub(crate) external: Option<Adapter>,
}

form!(Fallback { custom, external });

#[derive(Debug, Default)]
pub(crate) struct Adapter {
    pub(crate) cluster: String,
    pub(crate) authority: Option<String>,
}

form!(Adapter {
    cluster: required,
    authority
});

#[derive(Debug, Default)]
pub(crate) struct Policies {
    pub(crate) default: Option<burst_policy::DefaultDecision>,
    pub(crate) root_namespace: Option<String>,
    pub(crate) given: Vec<burst_policy::raw::RawInlinePolicy>,
}

form!(Policies {
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
pub enum Upstream {
    /// It is replaced, and removed where the filter has nothing to say.
    #[default]
    Replace,
    /// It stays, and the filter adds none.
    Keep,
}

choice!(Upstream { "replace" => Replace, "keep" => Keep });

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
