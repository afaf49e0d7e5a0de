//! Envoy's stats, as far as they are about the filter.

use std::collections::BTreeMap;

use burst_model::kube::PollOutcome;
use burst_model::version::Version;

/// How Envoy shows what a Wasm module counts.
const CUSTOM: &str = "wasmcustom.burst_";

/// Each VM of the runtime that the filter runs in, whatever module it runs.
const VMS: &str = "wasm.envoy.wasm.runtime.v8.active";

/// The filter's stats in one Envoy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats(BTreeMap<String, u64>);

impl Stats {
    /// Reads the body of Envoy's `/stats`: `name: value` lines, of which those that are no number are left out.
    #[must_use]
    pub fn read(body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        let line = |line: &str| {
            let (name, value) = line.rsplit_once(": ")?;
            Some((name.to_owned(), value.trim_end().parse().ok()?))
        };
        Self(text.lines().filter_map(line).collect())
    }

    /// A stat of the filter by its name behind `burst_`.
    #[must_use]
    pub fn burst(&self, name: &str) -> Option<u64> {
        self.0.get(&format!("{CUSTOM}{name}")).copied()
    }

    /// Whether the filter ever ran in this Envoy. Its stats stay when it goes.
    #[must_use]
    pub fn has_filter(&self) -> bool {
        self.0.keys().any(|name| name.starts_with(CUSTOM))
    }

    /// Wasm VMs that run.
    #[must_use]
    pub fn vms(&self) -> u64 {
        self.0.get(VMS).copied().unwrap_or(0)
    }

    /// When the cluster was last read, in Unix seconds; `None` before the first time.
    #[must_use]
    pub fn read_at(&self) -> Option<u64> {
        self.burst("snapshot_timestamp_seconds").filter(|seconds| *seconds > 0)
    }

    /// The filter's version; older ones do not tell.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        Version::from_number(self.burst("filter_version")?)
    }

    /// Polls that failed since Envoy started, and how, the most frequent first.
    #[must_use]
    pub fn failed_polls(&self) -> Vec<(PollOutcome, u64)> {
        let count = |outcome: PollOutcome| self.burst(&format!("poll_{}_total", outcome.as_str())).unwrap_or(0);
        let failures = PollOutcome::ALL
            .into_iter()
            .filter(|outcome| *outcome != PollOutcome::Ok);
        let mut failed: Vec<_> = failures
            .map(|outcome| (outcome, count(outcome)))
            .filter(|(_, count)| *count > 0)
            .collect();
        failed.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        failed
    }

    /// Responses without a header since Envoy started, by reason, the most frequent first.
    #[must_use]
    pub fn absent_headers(&self) -> Vec<(&str, u64)> {
        fn reason<'a>((name, count): (&'a String, &u64)) -> Option<(&'a str, u64)> {
            let reason = name.strip_prefix(CUSTOM)?.strip_prefix("header_absent_")?;
            Some((reason.strip_suffix("_total")?, *count)).filter(|(_, count)| *count > 0)
        }
        let mut absent: Vec<_> = self.0.iter().filter_map(reason).collect();
        absent.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        absent
    }
}
