//! The lock on `/burstmetrics`.

use serde_json::{Value, json};

use super::filter::on_proxies;
use super::set::Set;
use super::template::{Changed, LOCK};
use super::words::Proxy;

/// The policy; `None` where the filter answers no path.
pub(super) fn object(set: &Set) -> Result<Option<Value>, Changed> {
    let Some(endpoints) = &set.config.endpoints else {
        return Ok(None);
    };
    let mut template = LOCK.object()?;
    let prefix = &endpoints.prefix;
    let paths = json!([prefix, format!("{prefix}/*")]);
    template.replace("/spec/rules/0/to/0/operation/paths", paths)?;
    if let Some(networks) = &set.allowed_networks {
        let allowed = "/spec/rules/0/from/0/source/notRemoteIpBlocks";
        template.replace(allowed, networks.as_slice())?;
    }
    if set.proxy == Proxy::Sidecar {
        template.put("/spec", "selector", None)?;
    }
    on_proxies(&mut template, set, "selector", "matchLabels")?;
    Ok(Some(template.object))
}
