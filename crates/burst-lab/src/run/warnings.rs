//! The warnings of the filter that are true now.

use std::time::Duration;

use super::envoy::FilterLine;

/// A warning that has no recovery, such as one about an object, is shown for this long.
const LIFETIME: Duration = Duration::from_secs(60);

/// The warnings, newest last.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Vec<Warning>);

#[derive(Debug)]
struct Warning {
    text: String,
    since: Duration,
}

impl Warnings {
    /// Notes a line of the filter.
    pub(crate) fn apply(&mut self, line: &FilterLine<'_>, now: Duration) {
        match line {
            FilterLine::Warning(text) => {
                self.0.retain(|warning| subject(&warning.text) != subject(text));
                self.0.push(Warning {
                    text: (*text).to_owned(),
                    since: now,
                });
            }
            FilterLine::Recovery { ends, .. } => self.0.retain(|warning| subject(&warning.text) != Some(ends)),
        }
    }

    /// Drops the warnings without a recovery that are old.
    pub(crate) fn expire(&mut self, now: Duration) {
        self.0
            .retain(|warning| subject(&warning.text).is_some() || now.saturating_sub(warning.since) < LIFETIME);
    }

    /// The newest warning, and how many others there are.
    pub(crate) fn newest(&self) -> Option<(&str, usize)> {
        let (newest, others) = self.0.split_last()?;
        Some((&newest.text, others.len()))
    }
}

/// `cannot list services` of `cannot list services: 403 Forbidden; …` and of `cannot list services, while …`; `None` if the
/// filter does not report a recovery.
fn subject(warning: &str) -> Option<&str> {
    let is_of_a_resource = ["cannot list ", "cannot watch "]
        .iter()
        .any(|begin| warning.starts_with(begin));
    is_of_a_resource.then(|| warning.split([':', ',']).next()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(100);

    fn warnings(texts: &[&str]) -> Warnings {
        let mut warnings = Warnings::default();
        texts
            .iter()
            .for_each(|text| warnings.apply(&FilterLine::Warning(text), NOW));
        warnings
    }

    fn recover(warnings: &mut Warnings, ends: &str) {
        let (text, ends) = ("it works again", ends.to_owned());
        warnings.apply(&FilterLine::Recovery { text, ends }, NOW);
    }

    #[test]
    fn a_warning_stays_until_its_resource_works_again() {
        let mut warnings = warnings(&["cannot list services: 403 Forbidden; give it a role"]);
        recover(&mut warnings, "cannot list services.example.com");
        recover(&mut warnings, "cannot watch services");
        warnings.expire(NOW + LIFETIME * 100);
        assert_eq!(
            warnings.newest(),
            Some(("cannot list services: 403 Forbidden; give it a role", 0))
        );
        recover(&mut warnings, "cannot list services");
        assert_eq!(warnings.newest(), None);
    }

    #[test]
    fn a_new_warning_replaces_the_one_of_the_same_resource_and_others_are_counted() {
        let mut warnings = warnings(&[
            "cannot list services: 403 Forbidden",
            "cannot list deployments.apps: 403 Forbidden",
            "cannot list services, while other lists work; excluding it",
        ]);
        let newest = "cannot list services, while other lists work; excluding it";
        assert_eq!(warnings.newest(), Some((newest, 1)));
        recover(&mut warnings, "cannot list services");
        assert_eq!(
            warnings.newest(),
            Some(("cannot list deployments.apps: 403 Forbidden", 0))
        );
    }

    #[test]
    fn a_warning_without_a_recovery_is_shown_for_a_minute() {
        let mut warnings = warnings(&["the HPA a/b has no target"]);
        warnings.expire(NOW + LIFETIME - Duration::from_millis(1));
        assert!(warnings.newest().is_some());
        warnings.expire(NOW + LIFETIME);
        assert_eq!(warnings.newest(), None);
    }
}
