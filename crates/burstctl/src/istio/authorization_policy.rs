//! The AuthorizationPolicy that restricts access to `/burstmetrics`.

use serde_json::{Value, json};

use super::filter::target_proxies;
use super::settings::Settings;
use super::template::{LOCK, TemplateMismatch};
use super::values::ProxyKind;

/// Returns the policy, or `None` if the configuration has no `endpoints`.
pub(super) fn object(settings: &Settings) -> Result<Option<Value>, TemplateMismatch> {
    let Some(endpoints) = &settings.config.endpoints else {
        return Ok(None);
    };
    let mut template = LOCK.object()?;
    let prefix = &endpoints.prefix;
    let paths = json!([prefix, format!("{prefix}/*")]);
    template.replace("/spec/rules/0/to/0/operation/paths", paths)?;
    if let Some(networks) = &settings.allowed_networks {
        let allowed = "/spec/rules/0/from/0/source/notRemoteIpBlocks";
        template.replace(allowed, networks.as_slice())?;
    }
    if settings.proxy == ProxyKind::Sidecar {
        template.put("/spec", "selector", None)?;
    }
    target_proxies(&mut template, settings, "selector", "matchLabels")?;
    Ok(Some(template.object))
}
