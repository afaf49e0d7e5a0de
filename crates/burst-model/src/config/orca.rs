//! `orca`: the load report on responses, for load balancers that read ORCA.

use super::value::invalid;
use super::{Artifact, ConfigError};
use crate::serve::orca::{HEADER, HEADER_BIN};
use burst_kube::{only_from_objects, only_from_strings};
use serde::Deserialize;

/// `orca` as written.
#[derive(Debug, Default, Deserialize)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub(crate) struct RawOrca {
    when: OrcaWhen,
    upstream: OrcaUpstream,
    format: OrcaFormat,
    dry_run: bool,
}

/// Which responses get a load report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
pub enum OrcaWhen {
    /// Those to a request with the header `endpoint-load-metrics-format`.
    #[default]
    Request,
    /// All of them.
    Always,
}

/// What happens to a load report of the upstream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
pub enum OrcaUpstream {
    /// The report of the filter replaces it. Without one it is removed.
    #[default]
    Replace,
    /// It stays, and the filter adds none.
    Keep,
    /// It stays, and the filter adds the metrics that it lacks.
    Merge,
}

/// The format of a load report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
pub enum OrcaFormat {
    /// `TEXT name=value, …`.
    #[default]
    Text,
    /// `JSON {…}`: the JSON form of the protobuf message `OrcaLoadReport`.
    Json,
}

only_from_objects!(RawOrca);
only_from_strings!(OrcaWhen, OrcaUpstream, OrcaFormat);

/// When and how responses get a load report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrcaConfig {
    /// Which responses get one.
    pub when: OrcaWhen,
    /// What happens to that of the upstream.
    pub upstream: OrcaUpstream,
    /// The format, unless the request names one.
    pub format: OrcaFormat,
    /// Whether reports are only counted, and responses stay as they are.
    pub dry_run: bool,
}

impl OrcaConfig {
    /// `header` is the name of the burst header, which must be another one.
    pub(super) fn check(raw: &RawOrca, header: &str, artifact: Artifact) -> Result<Self, ConfigError> {
        if artifact == Artifact::HeaderOnly && raw.when == OrcaWhen::Request {
            let reason = "`request`, the default, needs the full module, because the header-only one sees no requests; set \
                          `always`, or put the full module on the public port";
            return Err(invalid("orca.when", reason));
        }
        if artifact == Artifact::HeaderOnly && raw.upstream == OrcaUpstream::Merge {
            let reason = "`merge` needs the full module; set `replace` or `keep`";
            return Err(invalid("orca.upstream", reason));
        }
        if [HEADER, HEADER_BIN].contains(&header) {
            let reason = format_args!("{header:?} is a header of `orca`; choose another name");
            return Err(invalid("header.name", reason));
        }
        Ok(Self {
            when: raw.when,
            upstream: raw.upstream,
            format: raw.format,
            dry_run: raw.dry_run,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn parse(more: &str, artifact: Artifact) -> Result<Option<OrcaConfig>, String> {
        let json = format!(r#"{{"cluster":"k"{more}}}"#);
        let config = Config::parse(json.as_bytes(), artifact);
        config.map(|config| config.orca).map_err(|error| error.to_string())
    }

    #[test]
    fn reports_are_off_by_default_and_else_only_for_requests_that_ask() {
        let default = OrcaConfig {
            when: OrcaWhen::Request,
            upstream: OrcaUpstream::Replace,
            format: OrcaFormat::Text,
            dry_run: false,
        };
        let written = OrcaConfig {
            when: OrcaWhen::Always,
            upstream: OrcaUpstream::Merge,
            format: OrcaFormat::Json,
            dry_run: true,
        };
        let all = r#","orca":{"when":"always","upstream":"merge","format":"json","dry_run":true}"#;
        for (more, orca) in [("", None), (r#","orca":{}"#, Some(default)), (all, Some(written))] {
            assert_eq!(parse(more, Artifact::Full), Ok(orca), "{more}");
        }
    }

    #[test]
    fn an_error_names_the_key_and_what_is_allowed() {
        for (more, message) in [
            (
                r#","orca":{"when":"never"}"#,
                "orca.when: unknown variant `never`, expected `request` or `always`",
            ),
            (
                r#","orca":{"upstream":"drop"}"#,
                "orca.upstream: unknown variant `drop`, expected one of `replace`, `keep`, `merge`",
            ),
            (
                r#","orca":{"format":"bin"}"#,
                "orca.format: unknown variant `bin`, expected `text` or `json`",
            ),
            (r#","orca":[]"#, "orca: invalid type: sequence, expected an object"),
            (
                r#","orca":{},"header":{"name":"Endpoint-Load-Metrics"}"#,
                r#"header.name: "endpoint-load-metrics" is a header of `orca`; choose another name"#,
            ),
        ] {
            assert_eq!(parse(more, Artifact::Full), Err(message.to_owned()), "{more}");
        }
    }

    #[test]
    fn the_header_only_module_reports_on_every_response_or_not_at_all() {
        for more in [r#","orca":{}"#, r#","orca":{"when":"request"}"#] {
            let refused = parse(more, Artifact::HeaderOnly).unwrap_err();
            assert!(
                refused.starts_with("orca.when: `request`, the default, needs the full module"),
                "{refused}"
            );
        }
        assert_eq!(
            parse(r#","orca":{"when":"always","upstream":"merge"}"#, Artifact::HeaderOnly),
            Err("orca.upstream: `merge` needs the full module; set `replace` or `keep`".to_owned())
        );
        assert!(matches!(
            parse(r#","orca":{"when":"always"}"#, Artifact::HeaderOnly),
            Ok(Some(_))
        ));
    }
}
