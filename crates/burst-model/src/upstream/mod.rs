//! What an Envoy cluster stands for.
//!
//! Four sources, the most explicit first: rules of the configuration (plain Envoy, Envoy Gateway), the metadata that
//! Istio puts on its clusters, the names that Istio gives them, and, before the workload itself, what the proxy knows
//! of its own pod. One cluster of Envoy Gateway has the endpoints of several Services. Where none of them tells, there is a reason.

mod istio;
mod owner;
mod rule;

pub use istio::IstioService;
pub use rule::{InvalidRule, MappingRule};

use crate::name::ObjectName;
use istio::IstioCluster;

/// A pod is of a few Services; more than these are not looked at.
const MOST_SERVICES: usize = 8;

/// The rules of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Upstreams {
    rules: Vec<MappingRule>,
    /// `.svc.<cluster domain>`.
    suffix: String,
}

/// What a cluster stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpstreamTarget {
    /// A Service.
    Service(ObjectName),
    /// The workload that the proxy's own pod is of.
    Workload {
        /// Its kind, as `deployments`.
        plural: String,
        /// Which of that kind.
        name: ObjectName,
    },
}

/// Why a cluster stands for no Service that can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmapped {
    /// Nobody knows the name: it needs a rule.
    Unknown,
    /// The caller chose an address that the mesh knows nothing of, or that it refuses.
    Passthrough,
    /// A host that is no Service of a cluster, as of most `ServiceEntry` objects.
    External,
    /// A Service of a cluster domain that is not the configured one.
    OtherDomain,
    /// The proxy's own pod, of which neither Istio nor the node metadata tell what it is.
    Inbound,
    /// A route of Envoy Gateway, which gives all Services behind a route rule one cluster: the endpoint that answered
    /// may tell.
    Route,
}

impl Unmapped {
    /// Every reason.
    pub const ALL: [Self; 6] = [
        Self::Unknown,
        Self::Passthrough,
        Self::External,
        Self::OtherDomain,
        Self::Inbound,
        Self::Route,
    ];

    /// The reason in the name of a stat.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unmapped",
            Self::Passthrough => "passthrough",
            Self::External => "external",
            Self::OtherDomain => "other_domain",
            Self::Inbound => "inbound",
            Self::Route => "route",
        }
    }
}

/// What the proxy can tell of a cluster beside its name. Each answer is a few calls of the host.
pub trait UpstreamHints {
    /// Istio's metadata of the cluster: `istio.services[place]`.
    fn service(&self, place: usize) -> Option<IstioService>;
    /// `OWNER` in the proxy's own node metadata.
    fn owner(&self) -> Option<String>;
    /// The Service of the endpoint that answered, where Envoy Gateway says it.
    fn backend(&self) -> Option<ObjectName>;
}

/// A proxy that knows the names of its clusters and nothing else.
impl UpstreamHints for () {
    fn service(&self, _place: usize) -> Option<IstioService> {
        None
    }

    fn owner(&self) -> Option<String> {
        None
    }

    fn backend(&self) -> Option<ObjectName> {
        None
    }
}

impl Upstreams {
    /// These rules, in a cluster of that domain (`cluster.local`).
    #[must_use]
    pub fn new(rules: Vec<MappingRule>, cluster_domain: &str) -> Self {
        Self {
            rules,
            suffix: format!(".svc.{cluster_domain}"),
        }
    }

    /// What a cluster stands for, the best candidate first; more than one only for the proxy's own pod.
    ///
    /// # Errors
    /// Why nothing can be said.
    pub fn of(&self, cluster: &[u8], hints: &impl UpstreamHints) -> Result<Vec<UpstreamTarget>, Unmapped> {
        let cluster = std::str::from_utf8(cluster).map_err(|_| Unmapped::Unknown)?;
        if let Some(service) = self.rules.iter().find_map(|rule| rule.service_of(cluster)) {
            return Ok(vec![UpstreamTarget::Service(service)]);
        }
        match IstioCluster::parse(cluster) {
            Some(IstioCluster::Passthrough) => Err(Unmapped::Passthrough),
            Some(IstioCluster::Inbound) => self.inbound(hints),
            Some(IstioCluster::To(host)) => self
                .by_metadata(hints)
                .unwrap_or_else(|| istio::service_of_host(host, &self.suffix))
                .map(|service| vec![UpstreamTarget::Service(service)]),
            None => self
                .by_metadata(hints)
                .unwrap_or_else(|| Err(of_envoy_gateway(cluster).unwrap_or(Unmapped::Unknown)))
                .map(|service| vec![UpstreamTarget::Service(service)]),
        }
    }

    fn by_metadata(&self, hints: &impl UpstreamHints) -> Option<Result<ObjectName, Unmapped>> {
        Some(hints.service(0)?.object(&self.suffix))
    }

    /// The Services that have the port, then the workload.
    fn inbound(&self, hints: &impl UpstreamHints) -> Result<Vec<UpstreamTarget>, Unmapped> {
        let services = (0..MOST_SERVICES).map_while(|place| hints.service(place));
        let services = services.filter_map(|service| service.object(&self.suffix).ok());
        let owner = || owner::workload(&hints.owner()?);
        let all: Vec<_> = services.map(UpstreamTarget::Service).chain(owner()).collect();
        if all.is_empty() {
            Err(Unmapped::Inbound)
        } else {
            Ok(all)
        }
    }
}

/// `httproute/NAMESPACE/NAME/rule/0` and its like.
/// <https://gateway.envoyproxy.io/docs/tasks/observability/gateway-api-metadata>
fn of_envoy_gateway(cluster: &str) -> Option<Unmapped> {
    let (kind, rest) = cluster.split_once('/')?;
    let of_rule = kind.ends_with("route") && rest.contains("/rule/");
    of_rule.then_some(Unmapped::Route)
}

#[cfg(test)]
mod tests;
