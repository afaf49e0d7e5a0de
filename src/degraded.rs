//! `x-envoy-degraded` on the responses of a full Service.

use crate::host;
use crate::stats::Stats;
use burst_model::config::DegradedConfig;
use burst_model::serve::CachedUpstream;
use burst_model::serve::degraded::{DEGRADED_HEADER, DegradedChange};

/// Marks the current response if its Service is full. A header of the upstream stays.
pub(crate) fn mark_response(config: &DegradedConfig, upstream: Option<&CachedUpstream>, stats: &Stats) {
    let Some(degradation) = upstream.and_then(|upstream| upstream.degradation.as_ref()) else {
        return;
    };
    let observed = degradation.observe(config.hold, host::now);
    match observed.change {
        Some(DegradedChange::Entered) => stats.degraded_entered.count(),
        Some(DegradedChange::Lost) => stats.degraded_lost.count(),
        Some(DegradedChange::Left) | None => {}
    }
    if !observed.is_degraded || host::has_response_header(DEGRADED_HEADER) {
        return;
    }
    if config.dry_run {
        stats.degraded_dry_run.count();
    } else {
        stats.degraded_added.count();
        host::set_response_header(DEGRADED_HEADER, Some("true"));
    }
}
