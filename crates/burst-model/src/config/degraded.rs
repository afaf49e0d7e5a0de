//! `degraded`: from which load on a Service is full, and how long it is at least.

use super::ConfigError;
use super::value::{invalid, percent, time};
use crate::load::Percent;
use burst_kube::only_from_objects;
use serde::Deserialize;
use std::time::Duration;

/// Above the default target load, so that callers who follow the header have gone elsewhere before.
const ENTER: &str = "90%";
/// The default target load.
const LEAVE: &str = "80%";
/// Two syncs of the HPA controller, and the time for which Envoy's outlier detection keeps a host degraded at first.
const HOLD: Duration = Duration::from_secs(30);
/// The tick of the filter, and so the shortest time between two reads.
const MIN_HOLD: Duration = Duration::from_secs(1);

#[derive(Debug, Default, Deserialize)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub(crate) struct RawDegraded {
    enter: Option<String>,
    leave: Option<String>,
    hold: Option<String>,
    dry_run: bool,
}

only_from_objects!(RawDegraded);

/// When responses say that their Service is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DegradedConfig {
    /// The load from which a Service is full, in percent of its maximum.
    pub enter: Percent,
    /// The load below which it is no longer full. Lower than `enter`.
    pub leave: Percent,
    /// How long a Service stays full, and not full, at least.
    pub hold: Duration,
    /// Whether the responses stay as they are, and are only counted.
    pub dry_run: bool,
}

impl DegradedConfig {
    pub(super) fn check(raw: &RawDegraded) -> Result<Self, ConfigError> {
        let enter = percent("degraded.enter", raw.enter.as_deref().unwrap_or(ENTER))?;
        let written = raw.leave.as_deref().unwrap_or(LEAVE);
        let leave = percent("degraded.leave", written)?;
        if leave >= enter {
            let reason = format_args!("{written} is not below degraded.enter, {enter}");
            return Err(invalid("degraded.leave", reason));
        }
        Ok(Self {
            enter,
            leave,
            hold: time("degraded.hold", raw.hold.as_deref(), HOLD, MIN_HOLD)?,
            dry_run: raw.dry_run,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Artifact, Config};
    use crate::signals::{Signal, SignalSet};

    fn parse(degraded: &str, artifact: Artifact) -> Result<Config, String> {
        let json = format!(r#"{{"cluster":"k","degraded":{degraded}}}"#);
        Config::parse(json.as_bytes(), artifact).map_err(|error| error.to_string())
    }

    #[test]
    fn it_is_off_by_default_and_on_with_defaults() {
        let off = Config::parse(br#"{"cluster":"k"}"#, Artifact::Full).unwrap();
        assert_eq!((off.degraded, off.content.signals), (None, SignalSet::NONE));
        for artifact in [Artifact::Full, Artifact::HeaderOnly] {
            let config = parse("{}", artifact).unwrap();
            let defaults = DegradedConfig {
                enter: Percent::new(90).unwrap(),
                leave: Percent::new(80).unwrap(),
                hold: Duration::from_secs(30),
                dry_run: false,
            };
            assert_eq!(config.degraded, Some(defaults));
            assert!(config.content.signals.contains(Signal::Demand), "it acts on the demand");
        }
    }

    #[test]
    fn marks_that_cross_and_values_out_of_range_are_refused() {
        for (degraded, message) in [
            (
                r#"{"enter":"80%"}"#,
                "degraded.leave: 80% is not below degraded.enter, 80%",
            ),
            (
                r#"{"enter":"70%","leave":"75%"}"#,
                "degraded.leave: 75% is not below degraded.enter, 70%",
            ),
            (
                r#"{"leave":"90%"}"#,
                "degraded.leave: 90% is not below degraded.enter, 90%",
            ),
            (
                r#"{"enter":"101%"}"#,
                r#"degraded.enter: "101%" is not a percentage from 1% to 100%"#,
            ),
            (
                r#"{"leave":"0%"}"#,
                r#"degraded.leave: "0%" is not a percentage from 1% to 100%"#,
            ),
            (
                r#"{"enter":"0.9"}"#,
                r#"degraded.enter: "0.9" is not a percentage from 1% to 100%"#,
            ),
            (r#"{"hold":"0s"}"#, "degraded.hold: 0s is below the least allowed, 1s"),
            (
                r#"{"hold":"soon"}"#,
                r#"degraded.hold: "soon" is not a duration such as 500ms, 15s, 2m or 1h30m"#,
            ),
        ] {
            assert_eq!(parse(degraded, Artifact::Full).unwrap_err(), message, "{degraded}");
        }
    }
}
