//! The value of the burst header.

use crate::config::ExtraKey;
use crate::load::Load;
use crate::name::ObjectName;
use crate::signals::ScalingState;
use crate::snapshot::Entry;
use crate::time::Time;
use std::fmt;
use std::time::Duration;

/// What a header may say of the read that its numbers come from.
#[derive(Clone, Copy, Debug)]
pub struct LastRead {
    /// When the cluster was last read.
    pub as_of: Time,
    /// The time since then, as of the last tick.
    pub age: Duration,
    /// Whether it is longer than `max_staleness`.
    pub stale: bool,
}

/// `service=ns/name, current-load=N, target-load=N, max-load=N`.
#[must_use]
pub fn value(entry: &Entry<'_>) -> String {
    let Entry { label, load, .. } = entry;
    format!(
        "service={label}, current-load={}, target-load={}, max-load={}",
        load.current, load.target, load.max
    )
}

/// Parses exactly what [`value`] writes: the name and its load.
#[must_use]
pub fn parse(value: &str) -> Option<(ObjectName, Load)> {
    let (label, rest) = value.strip_prefix("service=")?.split_once(", current-load=")?;
    let (current, rest) = rest.split_once(", target-load=")?;
    let (target, max) = rest.split_once(", max-load=")?;
    let load = Load {
        current: number(current)?,
        target: number(target)?,
        max: number(max)?,
    };
    Some((ObjectName::parse(label).ok()?, load))
}

/// Parses a number as [`value`] writes it, so neither `+1` nor `01`.
fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number: &u32| number.to_string() == text)
}

/// Like [`value`], with extra keys after `max-load`, so that clients that expect the four keys can still parse it.
#[must_use]
pub fn value_with(entry: &Entry<'_>, extra_keys: &[ExtraKey], read: LastRead) -> String {
    let mut value = value(entry);
    for key in extra_keys {
        value.push_str(&match key {
            ExtraKey::AsOf => format!(", as-of={}", read.as_of.unix_seconds()),
            ExtraKey::Stale => format!(", stale={}", read.stale),
            ExtraKey::Headroom => format!(", headroom={}", entry.load.headroom()),
            ExtraKey::Age => format!(", age={}", read.age.as_secs()),
            ExtraKey::Ready => known("ready", entry.signals.ready),
            ExtraKey::Demand => known("demand", entry.signals.demand),
            ExtraKey::State => known("state", entry.signals.state.map(ScalingState::name)),
        });
    }
    value
}

/// A key with its value, or nothing if the value is not known.
fn known(key: &str, value: Option<impl fmt::Display>) -> String {
    value.map(|value| format!(", {key}={value}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label_text::LabelText;
    use crate::signals::Signals;
    use proptest::prelude::*;

    const ENTRY: Entry<'static> = Entry {
        name: "default/ngsa-svc-1",
        label: "default/ngsa-1",
        load: Load {
            current: 1,
            target: 4,
            max: 5,
        },
        signals: Signals {
            ready: Some(3),
            demand: None,
            state: Some(ScalingState::Limited),
        },
        labels: LabelText(""),
    };

    #[test]
    fn the_value_names_the_workload_and_its_load() {
        assert_eq!(
            value(&ENTRY),
            "service=default/ngsa-1, current-load=1, target-load=4, max-load=5"
        );
    }

    #[test]
    fn extra_keys_follow_max_load_in_the_configured_order() {
        let read = LastRead {
            as_of: Time::from_unix_millis(1_700_000_000_999),
            age: Duration::from_millis(61_999),
            stale: true,
        };
        assert_eq!(
            value_with(&ENTRY, &[ExtraKey::Stale, ExtraKey::AsOf], read),
            "service=default/ngsa-1, current-load=1, target-load=4, max-load=5, stale=true, as-of=1700000000"
        );
        assert_eq!(
            value_with(&ENTRY, &[ExtraKey::Age, ExtraKey::Headroom], read),
            "service=default/ngsa-1, current-load=1, target-load=4, max-load=5, age=61, headroom=4"
        );
        assert_eq!(
            value_with(&ENTRY, &[ExtraKey::State, ExtraKey::Demand, ExtraKey::Ready], read),
            "service=default/ngsa-1, current-load=1, target-load=4, max-load=5, state=limited, ready=3",
            "a value that is not known is left out"
        );
    }

    #[test]
    fn parse_accepts_only_what_value_writes() {
        let text = value(&ENTRY);
        let label = ObjectName::parse(ENTRY.label).unwrap();
        assert_eq!(parse(&text), Some((label, ENTRY.load)));
        for (part, other) in [
            ("max-load=5", "max-load=5, stale=true"),
            ("max-load=5", "max-load=05"),
            ("max-load=5", "max-load=+5"),
            ("max-load=5", "max-load=4294967296"),
            ("max-load=5", "max-load=-1"),
            ("max-load=5", "max-load="),
            (", max-load=5", ""),
            ("target-load=4", "target-load=4.0"),
            (", ", ","),
            ("service=default/ngsa-1", "service=default/NGSA"),
            ("service=default/ngsa-1", "service=ngsa-1"),
            ("service", " service"),
        ] {
            assert_eq!(parse(&text.replace(part, other)), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(text in "(service=|, current-load=|, max-load=|[a-z/0-9])*|.{0,99}") {
            let _ = parse(&text);
        }
    }
}
