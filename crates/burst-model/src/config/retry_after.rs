//! `retry_after`: when clients of a Service that cannot grow may come back.

use super::ConfigError;
use super::value::{invalid, time};
use burst_kube::only_from_objects;
use serde::Deserialize;
use std::time::Duration;

/// The HPA controller syncs every 15 s by default: it does not add replicas earlier.
const MIN: Duration = Duration::from_secs(15);
/// With a longer delay a client may give up although the load has fallen.
const MAX: Duration = Duration::from_secs(60);
/// `Retry-After` has whole seconds.
const LEAST: Duration = Duration::from_secs(1);

#[derive(Debug, Default, Deserialize)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub(crate) struct RawRetryAfter {
    min: Option<String>,
    max: Option<String>,
    dry_run: bool,
}

only_from_objects!(RawRetryAfter);

/// The delays for clients that got no answer because their Service is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryAfterConfig {
    /// The shortest delay: the sync period of the HPA controller.
    pub min: Duration,
    /// The longest delay, at least twice the shortest.
    pub max: Duration,
    /// Whether the responses stay as they are, and are only counted.
    pub dry_run: bool,
}

impl RetryAfterConfig {
    pub(super) fn check(raw: &RawRetryAfter) -> Result<Self, ConfigError> {
        let min = time("retry_after.min", raw.min.as_deref(), MIN, LEAST)?;
        let least_max = min.saturating_mul(2);
        let delays = [
            ("retry_after.min", min),
            (
                "retry_after.max",
                time("retry_after.max", raw.max.as_deref(), MAX, least_max)?,
            ),
        ];
        for (key, delay) in delays {
            if delay.subsec_nanos() > 0 || delay.as_secs() > u32::MAX.into() {
                let reason = format_args!("{}ms is not a whole number of seconds", delay.as_millis());
                return Err(invalid(key, reason));
            }
        }
        let [(_, min), (_, max)] = delays;
        Ok(Self {
            min,
            max,
            dry_run: raw.dry_run,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Artifact, Config};
    use crate::signals::{Signal, SignalSet};

    fn parse(retry_after: &str, artifact: Artifact) -> Result<Config, String> {
        let json = format!(r#"{{"cluster":"k","retry_after":{retry_after}}}"#);
        Config::parse(json.as_bytes(), artifact).map_err(|error| error.to_string())
    }

    #[test]
    fn it_is_off_by_default_and_on_with_defaults() {
        let off = Config::parse(br#"{"cluster":"k"}"#, Artifact::Full).unwrap();
        assert_eq!(off.retry_after, None);
        for artifact in [Artifact::Full, Artifact::HeaderOnly] {
            let config = parse("{}", artifact).unwrap();
            let defaults = RetryAfterConfig {
                min: Duration::from_secs(15),
                max: Duration::from_secs(60),
                dry_run: false,
            };
            assert_eq!(config.retry_after, Some(defaults));
            let needs: SignalSet = [Signal::Demand, Signal::State].into_iter().collect();
            assert_eq!(config.content.signals, needs);
        }
    }

    #[test]
    fn delays_without_room_for_jitter_and_parts_of_seconds_are_refused() {
        for (retry_after, message) in [
            (r#"{"min":"0s"}"#, "retry_after.min: 0s is below the least allowed, 1s"),
            (
                r#"{"max":"20s"}"#,
                "retry_after.max: 20s is below the least allowed, 30s",
            ),
            (
                r#"{"min":"1500ms"}"#,
                "retry_after.min: 1500ms is not a whole number of seconds",
            ),
            (
                r#"{"max":"60500ms"}"#,
                "retry_after.max: 60500ms is not a whole number of seconds",
            ),
        ] {
            assert_eq!(
                parse(retry_after, Artifact::Full).unwrap_err(),
                message,
                "{retry_after}"
            );
        }
        let raised = parse(r#"{"min":"45s"}"#, Artifact::Full).unwrap().retry_after.unwrap();
        assert_eq!(raised.max, Duration::from_secs(90), "the default has room too");
    }
}
