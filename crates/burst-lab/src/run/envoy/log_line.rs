//! Lines of Envoy's log: those of the filter, without what Envoy writes before them.

/// `[2026-11-23 05:00:00.000][1][warning][wasm] [source/…/context.cc:1198] wasm log burst-metrics: cannot list …`. The name of
/// the plugin may be followed by that of the VM.
const WASM: &str = "wasm log ";
const FILTER: &str = "burst-metrics";

/// A line of the filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FilterLine<'a> {
    /// Something needs attention.
    Warning(&'a str),
    /// What failed works again.
    Recovery {
        text: &'a str,
        /// How the warnings begin that this ends.
        ends: String,
    },
}

/// Parses a line of Envoy's log. `None` for other lines of the filter, and for those of Envoy itself.
pub(crate) fn parse(line: &str) -> Option<FilterLine<'_>> {
    let (prefix, message) = line.split_once(WASM)?;
    let (names, message) = message.split_once(": ")?;
    if names.split(' ').next() != Some(FILTER) {
        return None;
    }
    let is = |level: &str| prefix.contains(&format!("][{level}]["));
    if is("warning") || is("error") || is("critical") {
        return Some(FilterLine::Warning(message));
    }
    // `listing services works again` after `cannot list services: …`.
    let (verb, what) = message.strip_suffix(" works again")?.split_once("ing ")?;
    Some(FilterLine::Recovery {
        text: message,
        ends: format!("cannot {verb} {what}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(level: &str, message: &str) -> String {
        format!("[2026-11-23 05:00:00.000][7][{level}][wasm] [source/extensions/common/wasm/context.cc:1198] {message}")
    }

    #[test]
    fn a_warning_of_the_filter_loses_what_envoy_wrote_before_it() {
        for level in ["warning", "error", "critical"] {
            for names in ["burst-metrics", "burst-metrics burst-metrics"] {
                let line = line(level, &format!("wasm log {names}: cannot list services: 403 Forbidden"));
                let warning = FilterLine::Warning("cannot list services: 403 Forbidden");
                assert_eq!(parse(&line), Some(warning));
            }
        }
    }

    #[test]
    fn a_recovery_names_the_warnings_that_it_ends() {
        for (text, ends) in [
            ("listing services works again", "cannot list services"),
            ("watching deployments.apps works again", "cannot watch deployments.apps"),
        ] {
            let line = line("info", &format!("wasm log burst-metrics: {text}"));
            let ends = ends.to_owned();
            assert_eq!(parse(&line), Some(FilterLine::Recovery { text, ends }));
        }
    }

    #[test]
    fn other_lines_of_the_filter_and_those_of_envoy_itself_are_not_shown() {
        let lines = [
            line("info", "wasm log burst-metrics: this thread polls kube_api from now on"),
            line("warning", "the max_active_downstream_connections is not set"),
            line("warning", "wasm log another-plugin: a warning"),
            String::new(),
        ];
        assert!(lines.iter().all(|line| parse(line).is_none()));
    }
}
