//! The filter's stats in Envoy.

use std::collections::BTreeMap;

use burst_model::kube::PollOutcome;
use burst_model::version::Version;

/// The prefix of the stats of a Wasm module.
const PREFIX: &str = "wasmcustom.burst_";

/// The number of VMs of the filter's runtime, for any module.
const ACTIVE_VMS: &str = "wasm.envoy.wasm.runtime.v8.active";

/// The name without a cluster. Envoy 1.36 puts the name of the cluster before the stats of Wasm if the filter is an upstream
/// filter of it.
fn without_cluster(name: &str) -> String {
    let in_cluster = name.strip_prefix("cluster.").and_then(|name| name.split_once(".wasm"));
    in_cluster.map_or_else(|| name.to_owned(), |(_, rest)| format!("wasm{rest}"))
}

/// The filter's stats in one Envoy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats(BTreeMap<String, u64>);

impl Stats {
    /// Parses the body of `/stats`: lines of `name: value`. Values that are not numbers are skipped.
    #[must_use]
    pub fn read(body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        let line = |line: &str| {
            let (name, value) = line.rsplit_once(": ")?;
            Some((without_cluster(name), value.trim_end().parse().ok()?))
        };
        Self(text.lines().filter_map(line).collect())
    }

    /// Returns a stat of the filter by its name after `burst_`.
    #[must_use]
    pub fn filter_stat(&self, name: &str) -> Option<u64> {
        self.0.get(&format!("{PREFIX}{name}")).copied()
    }

    /// Returns whether the filter has run in this Envoy; its stats stay after it is removed.
    #[must_use]
    pub fn has_filter(&self) -> bool {
        self.0.keys().any(|name| name.starts_with(PREFIX))
    }

    /// Returns the number of running Wasm VMs.
    #[must_use]
    pub fn vms(&self) -> u64 {
        self.0.get(ACTIVE_VMS).copied().unwrap_or(0)
    }

    /// Returns when the cluster was last read, in Unix seconds; `None` before the first read.
    #[must_use]
    pub fn read_at(&self) -> Option<u64> {
        self.filter_stat("snapshot_timestamp_seconds")
            .filter(|seconds| *seconds > 0)
    }

    /// Returns the filter's version; older ones do not report it.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        Version::from_number(self.filter_stat("filter_version")?)
    }

    /// Returns the failed polls since Envoy started by outcome, the most frequent first.
    #[must_use]
    pub fn failed_polls(&self) -> Vec<(PollOutcome, u64)> {
        let count = |outcome: PollOutcome| {
            self.filter_stat(&format!("poll_{}_total", outcome.as_str()))
                .unwrap_or(0)
        };
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

    /// Returns the responses without a header since Envoy started by reason, the most frequent first.
    #[must_use]
    pub fn absent_headers(&self) -> Vec<(&str, u64)> {
        fn reason<'a>((name, count): (&'a String, &u64)) -> Option<(&'a str, u64)> {
            let reason = name.strip_prefix(PREFIX)?.strip_prefix("header_absent_")?;
            Some((reason.strip_suffix("_total")?, *count)).filter(|(_, count)| *count > 0)
        }
        let mut absent: Vec<_> = self.0.iter().filter_map(reason).collect();
        absent.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        absent
    }
}
