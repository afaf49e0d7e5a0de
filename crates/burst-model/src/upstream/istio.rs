//! The names and the metadata of Istio's clusters.
//! <https://github.com/istio/istio/blob/master/pilot/pkg/model/service.go> (`BuildSubsetKey`, `BuildDNSSrvSubsetKey`)

use super::Unmapped;
use crate::name::ObjectName;

/// The domain of Services that clusters export to each other.
/// <https://github.com/kubernetes/enhancements/tree/master/keps/sig-multicluster/1645-multi-cluster-services-api>
const CLUSTERSET: &str = ".svc.clusterset.local";

/// An entry of `istio.services` in the metadata of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IstioService {
    /// Its host name in the mesh.
    pub host: String,
    /// Its name. For a `ServiceEntry`, Istio repeats the host here.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
}

/// A parsed cluster name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IstioCluster<'a> {
    /// A cluster to the Service of this host: from a sidecar or gateway, or from a waypoint to its backends.
    Service(&'a str),
    /// The cluster to the proxy's own workload. Its name contains no host.
    Inbound,
    /// The cluster to the original destination, or to nowhere.
    Passthrough,
}

impl<'a> IstioCluster<'a> {
    /// Parses `direction|port|subset|host`. Names that are also an SNI (`AUTO_PASSTHROUGH`) have `_.` in place of `|`.
    pub(super) fn parse(name: &'a str) -> Option<Self> {
        let separator = if name.contains('|') { "|" } else { "_." };
        let mut parts = name.splitn(4, separator);
        let (direction, port, _subset, host) = (parts.next()?, parts.next(), parts.next(), parts.next());
        match (direction, port.zip(host)) {
            ("outbound" | "inbound" | "inbound-vip", Some((_, host))) if !host.is_empty() => Some(Self::Service(host)),
            ("inbound", Some(_)) => Some(Self::Inbound),
            ("PassthroughCluster" | "BlackHoleCluster", None) => Some(Self::Passthrough),
            // Older versions have one cluster for each address family.
            (direction, None) if direction.starts_with("InboundPassthroughCluster") => Some(Self::Passthrough),
            _ => None,
        }
    }
}

/// The Service of a host name, in a cluster whose Services end in that suffix (`.svc.cluster.local`).
pub(super) fn service_of_host(host: &str, suffix: &str) -> Result<ObjectName, Unmapped> {
    let own = host.strip_suffix(suffix).or_else(|| host.strip_suffix(CLUSTERSET));
    let service = |name_and_namespace: &str| {
        let (name, namespace) = name_and_namespace.split_once('.')?;
        let one_label = !namespace.contains('.');
        one_label.then(|| ObjectName::new(namespace, name).ok()).flatten()
    };
    if let Some(service) = own.and_then(service) {
        return Ok(service);
    }
    let (before, _) = host.split_once(".svc.").ok_or(Unmapped::External)?;
    Err(service(before).map_or(Unmapped::External, |_| Unmapped::OtherDomain))
}

impl IstioService {
    /// The name of the Service, if the entry is one.
    pub(super) fn service_name(&self, suffix: &str) -> Result<ObjectName, Unmapped> {
        if self.name == self.host {
            return service_of_host(&self.host, suffix);
        }
        ObjectName::new(&self.namespace, &self.name).map_err(|_| Unmapped::External)
    }
}
