//! The names that Istio gives its clusters, and what it writes beside them.
//! <https://github.com/istio/istio/blob/master/pilot/pkg/model/service.go> (`BuildSubsetKey`, `BuildDNSSrvSubsetKey`)

use super::Unmapped;
use crate::name::ObjectName;

/// The domain of Services that several clusters export to each other.
/// <https://github.com/kubernetes/enhancements/tree/master/keps/sig-multicluster/1645-multi-cluster-services-api>
const CLUSTERSET: &str = ".svc.clusterset.local";

/// An entry of `istio.services` in the metadata of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IstioService {
    /// The host name that the mesh knows it by.
    pub host: String,
    /// Its name; a `ServiceEntry` has none of its own, and Istio writes the host here too.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
}

/// The parts of a cluster's name that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IstioCluster<'a> {
    /// To the Service of this host: from a sidecar or gateway, or from a waypoint to what stands behind it.
    To(&'a str),
    /// To the workload that this proxy stands before. Its name holds no host.
    Inbound,
    /// To wherever the caller wanted, or to nowhere.
    Passthrough,
}

impl<'a> IstioCluster<'a> {
    /// `direction|port|subset|host`, and with `_.` for `|` where it also is an SNI (`AUTO_PASSTHROUGH`).
    pub(super) fn parse(name: &'a str) -> Option<Self> {
        let border = if name.contains('|') { "|" } else { "_." };
        let mut parts = name.splitn(4, border);
        let (direction, port, _subset, host) = (parts.next()?, parts.next(), parts.next(), parts.next());
        match (direction, port.zip(host)) {
            ("outbound" | "inbound" | "inbound-vip", Some((_, host))) if !host.is_empty() => Some(Self::To(host)),
            ("inbound", Some(_)) => Some(Self::Inbound),
            ("PassthroughCluster" | "BlackHoleCluster", None) => Some(Self::Passthrough),
            // One for each family of addresses, in older versions.
            (direction, None) if direction.starts_with("InboundPassthroughCluster") => Some(Self::Passthrough),
            _ => None,
        }
    }
}

/// The Service of a host name in a cluster of that suffix (`.svc.cluster.local`).
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
    /// The Service, where this is one.
    pub(super) fn object(&self, suffix: &str) -> Result<ObjectName, Unmapped> {
        if self.name == self.host {
            return service_of_host(&self.host, suffix);
        }
        ObjectName::new(&self.namespace, &self.name).map_err(|_| Unmapped::External)
    }
}
