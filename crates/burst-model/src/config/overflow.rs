//! `overflow`: from which demand on a growing share of the requests goes to another cluster.

use super::value::{header_name, invalid, time};
use super::{Artifact, ConfigError};
use crate::load::Percent;
use crate::signals::Signal;
use burst_kube::only_from_objects;
use serde::Deserialize;
use std::time::Duration;

/// Below the maximum, so that the replicas are not full when the share begins to grow.
const FROM: &str = "90%";
/// About the time from a change of the load to a change of the demand: the metrics of a pod are some 30 s old, and the HPA
/// controller syncs every 15 s. A much shorter time makes the share swing.
const RAMP: Duration = Duration::from_secs(60);
/// The share changes once a second.
const MIN_RAMP: Duration = Duration::from_secs(1);

/// The values of a row that the share is computed from, beside its load.
pub(super) const SIGNALS: [Signal; 2] = [Signal::Demand, Signal::State];

/// The section as written.
#[derive(Debug, Default, Deserialize)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub(crate) struct RawOverflow {
    from: Option<String>,
    key: RawKey,
    ramp: Option<String>,
    dry_run: bool,
}

only_from_objects!(RawOverflow);

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RawKey {
    #[default]
    Source,
    Header(String),
}

/// When requests go to another cluster, and which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverflowConfig {
    /// The demand from which requests go to another cluster, as a percentage of the maximum.
    pub from: Percent,
    /// The value of a request that decides whether it goes.
    pub key: OverflowKey,
    /// The time constant with which the share follows the demand.
    pub ramp: Duration,
    /// Whether requests are only counted.
    pub dry_run: bool,
}

/// The value of a request whose hash decides whether it goes to another cluster. A client that keeps it stays where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OverflowKey {
    /// The address of the client.
    Source,
    /// The value of the header of that name, in lower case. The address if a request lacks it.
    Header(String),
}

impl OverflowConfig {
    pub(super) fn check(raw: RawOverflow, artifact: Artifact) -> Result<Self, ConfigError> {
        if artifact == Artifact::HeaderOnly {
            return Err(ConfigError::NeedsFullModule("overflow"));
        }
        let key = match raw.key {
            RawKey::Source => OverflowKey::Source,
            RawKey::Header(name) => OverflowKey::Header(header_name("overflow.key.header", &name)?),
        };
        Ok(Self {
            from: percent("overflow.from", raw.from.as_deref().unwrap_or(FROM))?,
            key,
            ramp: time("overflow.ramp", raw.ramp.as_deref(), RAMP, MIN_RAMP)?,
            dry_run: raw.dry_run,
        })
    }
}

/// Reads a percentage such as `90%`.
fn percent(key: &str, text: &str) -> Result<Percent, ConfigError> {
    let number = text.strip_suffix('%').and_then(|number| number.parse().ok());
    number
        .and_then(Percent::new)
        .ok_or_else(|| invalid(key, format_args!("{text:?} is not a percentage from 1% to 100%")))
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    fn parse(json: &str) -> Result<Config, ConfigError> {
        Config::parse(json.as_bytes(), Artifact::Full)
    }

    fn overflow(json: &str) -> OverflowConfig {
        let config = parse(&format!(r#"{{"cluster":"k","overflow":{json}}}"#)).unwrap();
        config.overflow.unwrap().into_inner()
    }

    #[test]
    fn requests_overflow_only_if_configured() {
        assert_eq!(parse(r#"{"cluster":"k"}"#).unwrap().overflow, None);
        let default = OverflowConfig {
            from: Percent::new(90).unwrap(),
            key: OverflowKey::Source,
            ramp: Duration::from_secs(60),
            dry_run: false,
        };
        assert_eq!(overflow("{}"), default);
        assert_eq!(overflow(r#"{"key":"source"}"#), default);
        let all = r#"{"from":"75%","key":{"header":"X-User"},"ramp":"30s","dry_run":true}"#;
        let expected = OverflowConfig {
            from: Percent::new(75).unwrap(),
            key: OverflowKey::Header("x-user".into()),
            ramp: Duration::from_secs(30),
            dry_run: true,
        };
        assert_eq!(overflow(all), expected);
    }

    #[test]
    fn the_demand_and_the_state_are_read_for_it() {
        let signals = |json: &str| parse(json).unwrap().content.signals;
        assert_eq!(signals(r#"{"cluster":"k"}"#), [].into_iter().collect());
        assert_eq!(
            signals(r#"{"cluster":"k","overflow":{}}"#),
            SIGNALS.into_iter().collect()
        );
    }

    #[test]
    fn an_error_names_the_key_and_what_is_allowed() {
        for (json, message) in [
            (
                r#"{"mark":"90%"}"#,
                "overflow.mark: unknown field `mark`, expected one of `from`",
            ),
            (
                r#"{"from":"90"}"#,
                r#"overflow.from: "90" is not a percentage from 1% to 100%"#,
            ),
            (
                r#"{"from":"101%"}"#,
                r#"overflow.from: "101%" is not a percentage from 1% to 100%"#,
            ),
            (r#"{"from":"0%"}"#, r#"overflow.from: "0%" is not a percentage"#),
            (r#"{"ramp":"0s"}"#, "overflow.ramp: 0s is below the least allowed, 1s"),
            (
                r#"{"key":{"header":"x user"}}"#,
                r#"overflow.key.header: "x user" is not a valid header name"#,
            ),
            (
                r#"{"key":"address"}"#,
                "overflow.key: unknown variant `address`, expected `source` or `header`",
            ),
        ] {
            let error = parse(&format!(r#"{{"cluster":"k","overflow":{json}}}"#)).unwrap_err();
            assert!(error.to_string().contains(message), "{json}: {error}");
        }
    }

    #[test]
    fn the_header_only_module_refuses_it_in_words() {
        let error = Config::parse(br#"{"cluster":"k","overflow":{}}"#, Artifact::HeaderOnly).unwrap_err();
        assert_eq!(
            error.to_string(),
            "overflow: is not supported by the header-only module, which does not see requests; use the full \
             module on the port that gets those requests"
        );
    }
}
