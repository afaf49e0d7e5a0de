//! The text of a burst header (seed 000, "formatted burst header"; design, "Semantics").

use crate::config::ExtraKey;
use crate::load::Load;
use crate::name::ObjectName;
use crate::snapshot::Entry;
use crate::time::Time;

/// `service=ns/name, current-load=N, target-load=N, max-load=N`.
#[must_use]
pub fn value(entry: &Entry<'_>) -> String {
    let Entry { label, load, .. } = entry;
    format!(
        "service={label}, current-load={}, target-load={}, max-load={}",
        load.current, load.target, load.max
    )
}

/// Reads what [`value`] writes, and nothing else: whose load it is, and the load.
#[must_use]
pub fn read(value: &str) -> Option<(ObjectName, Load)> {
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

/// A number as it is written here: `+1` and `01` are not.
fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number: &u32| number.to_string() == text)
}

/// The same with extra keys, always after `max-load`: the four are what existing readers split at.
#[must_use]
pub fn value_with(entry: &Entry<'_>, extra_keys: &[ExtraKey], as_of: Time, stale: bool) -> String {
    let mut value = value(entry);
    for key in extra_keys {
        value.push_str(&match key {
            ExtraKey::AsOf => format!(", as-of={}", as_of.unix_seconds()),
            ExtraKey::Stale => format!(", stale={stale}"),
        });
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label_text::LabelText;
    use proptest::prelude::*;

    const ENTRY: Entry<'static> = Entry {
        of: "default/ngsa-svc-1",
        label: "default/ngsa-1",
        load: Load {
            current: 1,
            target: 4,
            max: 5,
        },
        labels: LabelText(""),
    };

    #[test]
    fn the_value_is_the_one_of_the_seed() {
        assert_eq!(
            value(&ENTRY),
            "service=default/ngsa-1, current-load=1, target-load=4, max-load=5"
        );
    }

    #[test]
    fn extra_keys_stand_behind_max_load_in_the_order_they_are_listed() {
        let as_of = Time::from_unix_millis(1_700_000_000_999);
        assert_eq!(
            value_with(&ENTRY, &[ExtraKey::Stale, ExtraKey::AsOf], as_of, true),
            "service=default/ngsa-1, current-load=1, target-load=4, max-load=5, stale=true, as-of=1700000000"
        );
    }
    #[test]
    fn only_what_is_written_here_is_read() {
        let text = value(&ENTRY);
        let label = ObjectName::parse(ENTRY.label).unwrap();
        assert_eq!(read(&text), Some((label, ENTRY.load)));
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
            assert_eq!(read(&text.replace(part, other)), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_is_survived(text in "(service=|, current-load=|, max-load=|[a-z/0-9])*|.{0,99}") {
            let _ = read(&text);
        }
    }
}
