//! The workload of the proxy's own pod, from the node metadata that Istio's injector writes.
//! <https://github.com/istio/istio/blob/master/manifests/charts/istio-control/istio-discovery/files/injection-template.yaml> (`ISTIO_META_OWNER`)

use super::UpstreamTarget;
use crate::name::ObjectName;

/// Parses `kubernetes://apis/apps/v1/namespaces/NAMESPACE/deployments/NAME`.
pub(super) fn workload(owner: &str) -> Option<UpstreamTarget> {
    let (_, path) = owner.strip_prefix("kubernetes://apis/")?.split_once("/namespaces/")?;
    let mut parts = path.split('/');
    let (namespace, plural, name) = (parts.next()?, parts.next()?, parts.next()?);
    let whole = parts.next().is_none();
    whole.then_some(())?;
    Some(UpstreamTarget::Workload {
        plural: plural.into(),
        name: ObjectName::new(namespace, name).ok()?,
    })
}
