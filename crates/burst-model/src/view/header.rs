//! The text of a burst header (seed 000, "formatted burst header"; design, "Semantics").

use crate::config::ExtraKey;
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
    use crate::load::Load;

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
}
