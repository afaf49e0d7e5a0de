//! Maps Envoy clusters to Services and workloads.
//!
//! There are four sources, the most explicit first: the rules of the configuration (plain Envoy, Envoy Gateway), the
//! metadata and the names of Istio's clusters, and, for inbound clusters, the proxy's node metadata. A cluster of Envoy
//! Gateway can have endpoints of several Services. A cluster that cannot be mapped has a reason.

mod istio;
mod owner;
mod rule;

pub use istio::IstioService;
pub use rule::{InvalidRule, MappingRule};

use crate::name::ObjectName;
use istio::IstioCluster;

/// The most Services of an inbound cluster that are used. A pod usually belongs to few.
const MAX_SERVICES: usize = 8;

/// The mapping rules of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Upstreams {
    rules: Vec<MappingRule>,
    /// `.svc.<cluster domain>`.
    suffix: String,
}

/// The target that a cluster is mapped to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpstreamTarget {
    /// A Service.
    Service(ObjectName),
    /// The workload of the proxy's own pod.
    Workload {
        /// Its kind, such as `deployments`.
        plural: String,
        /// Its name.
        name: ObjectName,
    },
}

/// Why a cluster cannot be mapped to a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmapped {
    /// The name is unknown, so the configuration needs a rule for it.
    Unknown,
    /// The client chose an address that the mesh does not know or does not allow.
    Passthrough,
    /// A host that is not a Service of a cluster, such as the host of most `ServiceEntry` objects.
    External,
    /// A Service of another cluster domain than the configured one.
    OtherDomain,
    /// The proxy's own pod, and neither Istio's metadata nor the node metadata names its Service or workload.
    Inbound,
    /// A route of Envoy Gateway. All Services of a route rule share one cluster, so only the endpoint that responded
    /// determines the Service.
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

    /// The reason, as part of a stat name.
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

/// What the proxy knows about a cluster besides its name. Each method makes a few host calls.
pub trait UpstreamHints {
    /// Istio's metadata of the cluster: `istio.services[index]`.
    fn service(&self, index: usize) -> Option<IstioService>;
    /// `OWNER` in the proxy's own node metadata.
    fn owner(&self) -> Option<String>;
    /// The Service of the endpoint that responded, if Envoy Gateway's metadata names it.
    fn backend(&self) -> Option<ObjectName>;
}

/// A proxy that knows only the names of its clusters.
impl UpstreamHints for () {
    fn service(&self, _index: usize) -> Option<IstioService> {
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
    /// Creates the mapping for a cluster domain such as `cluster.local`.
    #[must_use]
    pub fn new(rules: Vec<MappingRule>, cluster_domain: &str) -> Self {
        Self {
            rules,
            suffix: format!(".svc.{cluster_domain}"),
        }
    }

    /// The targets of a cluster, the best candidate first. Only the proxy's own pod has more than one.
    ///
    /// # Errors
    /// Why the cluster cannot be mapped.
    pub fn resolve(&self, cluster: &[u8], hints: &impl UpstreamHints) -> Result<Vec<UpstreamTarget>, Unmapped> {
        let cluster = std::str::from_utf8(cluster).map_err(|_| Unmapped::Unknown)?;
        if let Some(service) = self.rules.iter().find_map(|rule| rule.service_of(cluster)) {
            return Ok(vec![UpstreamTarget::Service(service)]);
        }
        match IstioCluster::parse(cluster) {
            Some(IstioCluster::Passthrough) => Err(Unmapped::Passthrough),
            Some(IstioCluster::Inbound) => self.inbound(hints),
            Some(IstioCluster::Service(host)) => self
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
        Some(hints.service(0)?.service_name(&self.suffix))
    }

    /// The Services of the port, then the workload.
    fn inbound(&self, hints: &impl UpstreamHints) -> Result<Vec<UpstreamTarget>, Unmapped> {
        let services = (0..MAX_SERVICES).map_while(|index| hints.service(index));
        let services = services.filter_map(|service| service.service_name(&self.suffix).ok());
        let owner = || owner::workload(&hints.owner()?);
        let all: Vec<_> = services.map(UpstreamTarget::Service).chain(owner()).collect();
        if all.is_empty() {
            Err(Unmapped::Inbound)
        } else {
            Ok(all)
        }
    }
}

/// Recognizes names such as `httproute/NAMESPACE/NAME/rule/0`.
/// <https://gateway.envoyproxy.io/docs/tasks/observability/gateway-api-metadata>
fn of_envoy_gateway(cluster: &str) -> Option<Unmapped> {
    let (kind, rest) = cluster.split_once('/')?;
    let of_rule = kind.ends_with("route") && rest.contains("/rule/");
    of_rule.then_some(Unmapped::Route)
}

#[cfg(test)]
mod tests;
