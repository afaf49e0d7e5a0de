//! `metrics_apis.aliases`: other names under which custom metrics are served, such as those that another adapter used.

use super::ConfigError;
use super::value::invalid;
use crate::metric::{RequestMetric, ServedMetric};
use crate::request_rates::{CountingSettings, RateScope};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;

/// In bytes, as for the names of most objects in Kubernetes.
const MAX_NAME: usize = 253;
/// Discovery lists each alias for each kind of objects, and every client of discovery reads the whole list.
const MAX_ALIASES: usize = 100;

/// The aliases as written: by name, the metric that each stands for.
#[derive(Debug, Default)]
pub(super) struct RawAliases(Vec<(String, String)>);

impl<'de> Deserialize<'de> for RawAliases {
    /// Keeps a name that is there twice, so that it can be refused.
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct Names;

        impl<'de> Visitor<'de> for Names {
            type Value = Vec<(String, String)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
                let mut aliases = Vec::new();
                while let Some(alias) = fields.next_entry()? {
                    aliases.push(alias);
                }
                Ok(aliases)
            }
        }

        json.deserialize_map(Names).map(Self)
    }
}

impl RawAliases {
    /// Returns the aliases with their metrics, sorted by name.
    pub(super) fn check(self, counting: Option<CountingSettings>) -> Result<Vec<(String, ServedMetric)>, ConfigError> {
        let Self(raw) = self;
        let count = raw.len();
        if count > MAX_ALIASES {
            let reason = format_args!("there are {count}; at most {MAX_ALIASES} are allowed");
            return Err(invalid("metrics_apis.aliases", reason));
        }
        let mut aliases = Vec::new();
        for (name, metric) in raw {
            let metric = served_metric(&name, &metric, counting)
                .map_err(|reason| invalid(format!("metrics_apis.aliases.{name}"), reason))?;
            match aliases.binary_search_by(|(other, _): &(String, _)| other.cmp(&name)) {
                Ok(_) => {
                    return Err(invalid(
                        format!("metrics_apis.aliases.{name}"),
                        "the name is there twice",
                    ));
                }
                Err(index) => aliases.insert(index, (name, metric)),
            }
        }
        Ok(aliases)
    }
}

/// Returns the metric of an alias, or why the alias is refused.
fn served_metric(name: &str, metric: &str, counting: Option<CountingSettings>) -> Result<ServedMetric, String> {
    if !is_metric_name(name) {
        return Err(format!(
            "{name:?} is not the name of a metric: it may have letters, digits and `_ : . - |`, up to {MAX_NAME}"
        ));
    }
    // That metric may be off now. With the alias, its name would change its meaning when it is switched on.
    if ServedMetric::any().any(|own| own.name() == name) {
        return Err("the filter has a metric of that name itself".to_owned());
    }
    let Some(served) = ServedMetric::any().find(|served| served.name() == metric) else {
        let names: Vec<_> = ServedMetric::all(counting).map(ServedMetric::name).collect();
        let names = names.join(", ");
        return Err(format!("{metric:?} is not a metric of the filter: there are {names}"));
    };
    missing_setting(served, counting).map_or(Ok(served), |missing| Err(format!("{metric} {missing}")))
}

/// A path has the name as one segment, and an HPA refuses `/` and `%` in it.
fn is_metric_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_:.-|".contains(&byte);
    name.len() <= MAX_NAME && name.bytes().all(is_allowed) && name.bytes().any(|byte| byte.is_ascii_alphanumeric())
}

/// The setting without which a metric is not served; `None` if it is served.
fn missing_setting(metric: ServedMetric, counting: Option<CountingSettings>) -> Option<&'static str> {
    let ServedMetric::Requests(counted, scope) = metric else {
        return None;
    };
    match (scope, counting) {
        (_, None) => Some("needs requests, which are not counted"),
        (RateScope::Cluster, Some(counting)) if counting.scope == RateScope::Proxy => {
            Some("is the sum of a hub, and needs requests.accept; this proxy counts its own requests, as burst_proxy_…")
        }
        (RateScope::Proxy, Some(counting)) if counting.scope == RateScope::Cluster => {
            Some("does not exist on a hub, whose metrics are burst_…")
        }
        (_, Some(counting)) if counted == RequestMetric::InFlight && !counting.in_flight => {
            Some("needs requests.in_flight")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Artifact, Config};

    const HUB: &str = r#","requests":{"accept":{"filter_chain":"h"}}"#;

    fn aliases(aliases: &str, more: &str) -> Result<Vec<(String, &'static str)>, String> {
        let json = format!(r#"{{"cluster":"k","metrics_apis":{{"filter_chain":"m","aliases":{aliases}}}{more}}}"#);
        let config = Config::parse(json.as_bytes(), Artifact::Full).map_err(|error| error.to_string())?;
        let apis = config.metrics_apis.unwrap().into_inner();
        let aliases = apis.aliases.into_iter();
        Ok(aliases.map(|(name, metric)| (name, metric.name())).collect())
    }

    #[test]
    fn an_alias_stands_for_a_metric_that_is_served() {
        let written = r#"{"http_requests_per_second":"burst_requests_per_second","shop:free":"burst_headroom"}"#;
        assert_eq!(
            aliases(written, HUB).unwrap(),
            [
                ("http_requests_per_second".to_owned(), "burst_requests_per_second"),
                ("shop:free".to_owned(), "burst_headroom"),
            ]
        );
        let proxy = r#"{"http_requests":"burst_proxy_requests_per_second"}"#;
        let written = aliases(proxy, r#","requests":{}"#).unwrap();
        assert_eq!(
            written,
            [("http_requests".to_owned(), "burst_proxy_requests_per_second")]
        );
    }

    #[test]
    fn an_alias_without_a_metric_is_refused() {
        let not_counted = r#","requests":{"in_flight":false,"accept":{"filter_chain":"h"}}"#;
        for (metric, more, why) in [
            (
                "burst_requests",
                "",
                r#"metrics_apis.aliases.a: "burst_requests" is not a metric of the filter: there are burst_current_load, "#,
            ),
            ("a", "", r#""a" is not a metric of the filter"#),
            (
                "burst_requests_per_second",
                "",
                "burst_requests_per_second needs requests, which are not counted",
            ),
            (
                "burst_requests_per_second",
                r#","requests":{}"#,
                "is the sum of a hub, and needs requests.accept",
            ),
            ("burst_proxy_requests_per_second", HUB, "does not exist on a hub"),
            ("burst_requests_in_flight", not_counted, "needs requests.in_flight"),
        ] {
            let error = aliases(&format!(r#"{{"a":"{metric}"}}"#), more).unwrap_err();
            assert!(error.contains(why), "{metric} {more}: {error}");
        }
    }

    #[test]
    fn a_name_that_is_taken_or_not_valid_is_refused() {
        for name in ["burst_headroom", "burst_proxy_requests_per_second"] {
            let error = aliases(&format!(r#"{{"{name}":"burst_max_load"}}"#), "").unwrap_err();
            let taken = format!("metrics_apis.aliases.{name}: the filter has a metric of that name itself");
            assert_eq!(error, taken);
        }
        let long = "a".repeat(254);
        for name in ["", ".", "..", "a/b", "a%b", "a b", "*", "ä", &long] {
            let error = aliases(&format!(r#"{{"{name}":"burst_max_load"}}"#), "").unwrap_err();
            assert!(error.contains("is not the name of a metric"), "{name}: {error}");
        }
        let twice = aliases(r#"{"a":"burst_headroom","a":"burst_max_load"}"#, "").unwrap_err();
        assert_eq!(twice, "metrics_apis.aliases.a: the name is there twice");
        let list = aliases(r#"["a"]"#, "").unwrap_err();
        assert!(list.contains("expected an object"), "{list}");
    }

    #[test]
    fn the_number_of_aliases_is_limited() {
        let many = |count: u32| {
            let all: Vec<_> = (0..count).map(|i| format!(r#""a{i}":"burst_headroom""#)).collect();
            aliases(&format!("{{{}}}", all.join(",")), "").map(|aliases| aliases.len())
        };
        assert_eq!(many(100), Ok(100));
        assert!(
            many(101)
                .unwrap_err()
                .contains("there are 101; at most 100 are allowed")
        );
    }
}
