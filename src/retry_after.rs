//! `Retry-After` on the 503 and 429 of a Service that cannot grow.

use crate::host;
use crate::stats::Stats;
use burst_model::config::RetryAfterConfig;
use burst_model::hash;
use burst_model::serve::CachedUpstream;
use burst_model::serve::retry_after::{RETRY_AFTER_HEADER, is_refusal};
use std::cell::Cell;

/// Delays clients that are refused.
#[derive(Debug, Default)]
pub(crate) struct RetryAfter {
    /// The delays so far, as a seed of the next.
    delays: Cell<u32>,
}

impl RetryAfter {
    /// Tells the client of the current response when to come back, if it is refused and its Service is limited. A header of the
    /// upstream stays.
    pub(crate) fn delay_client(&self, config: RetryAfterConfig, upstream: Option<&CachedUpstream>, stats: &Stats) {
        let Some(delays) = upstream.and_then(|upstream| upstream.retry_delays) else {
            return;
        };
        let is_refused = host::response_header(":status").is_some_and(|status| is_refusal(&status));
        if !is_refused || host::has_response_header(RETRY_AFTER_HEADER) {
            return;
        }
        if config.dry_run {
            return stats.retry_after_dry_run.count();
        }
        stats.retry_after_added.count();
        let seconds = delays.seconds(self.chance());
        host::set_response_header(RETRY_AFTER_HEADER, Some(&seconds.to_string()));
    }

    /// A Wasm module has no source of randomness. A hash of the time is enough to spread clients. FNV is not: a counter hardly
    /// changes its upper bits, which choose the delay.
    fn chance(&self) -> u32 {
        self.delays.set(self.delays.get().wrapping_add(1));
        let seed = [&host::nanoseconds().to_le_bytes()[..], &self.delays.get().to_le_bytes()].concat();
        u32::try_from(hash::of_words(&seed) >> u32::BITS).unwrap_or_default()
    }
}
