//! Parses the Services in a hub's response: a JSON object from `namespace/name` to header value, or in `format=json` to the
//! numbers. An invalid entry is excluded and costs no other entry. The memory for excluded entries is limited.

use crate::index::Row;
use crate::kube::item::{InvalidItem, MAX_NAME_BYTES, QUARANTINED_REASON};
use crate::kube::{Failure, ParseDecision, ParseGuard};
use crate::load::Load;
use crate::name::ObjectName;
use crate::order;
use crate::printable::{LONGEST_QUOTE, printable};
use crate::serve::header;
use crate::signals::{ScalingState, Signals};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Excluded entries that are kept by name. Further ones are only counted.
pub(super) const MAX_INVALID: usize = 100;

/// The largest entry that is parsed, name and header together: twice as long as any that a hub writes.
const MAX_ENTRY_BYTES: usize = 4 << 10;

/// The Services of a hub.
#[derive(Debug, Default)]
pub struct HubServices {
    /// Sorted by `namespace/name`.
    pub rows: Vec<Row>,
    /// The first hundred excluded entries, each with the reason.
    pub invalid: Vec<InvalidItem>,
    /// How many further entries are excluded.
    pub more_invalid: usize,
}

/// Parses the body of a bulk response.
///
/// # Errors
/// It is not a JSON object.
pub(super) fn parse(body: &[u8], progress: &mut dyn ParseGuard) -> Result<HubServices, Failure> {
    let text = to_text(body);
    let mut services = HubServices::default();
    let entries = JsonEntries {
        services: &mut services,
        progress,
    };
    let mut json = serde_json::Deserializer::from_slice(text.as_bytes());
    entries
        .deserialize(&mut json)
        .and_then(|()| json.end())
        .map_err(Failure::malformed)?;
    services.sort();
    Ok(services)
}

/// The body as text, with `?` in place of invalid UTF-8. No name and no header contains a `?`. The Unicode replacement
/// character takes three bytes, so a body of invalid bytes would grow to three times its size.
fn to_text(body: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(body) {
        return text.into();
    }
    let mut text = String::with_capacity(body.len());
    for chunk in body.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push('?');
        }
    }
    text.into()
}

impl HubServices {
    fn add(&mut self, name: &str, value: &RawValue, progress: &mut dyn ParseGuard) {
        match parse_entry(name, value, progress) {
            Ok(row) => self.rows.push(row),
            Err(reason) => self.exclude(name, reason),
        }
    }

    fn exclude(&mut self, name: impl fmt::Display, reason: impl fmt::Display) {
        if self.invalid.len() >= MAX_INVALID {
            self.more_invalid = self.more_invalid.saturating_add(1);
            return;
        }
        self.invalid.push(InvalidItem {
            name: printable(name, MAX_NAME_BYTES),
            reason: printable(reason, LONGEST_QUOTE),
        });
    }

    fn sort(&mut self) {
        let mut rows = std::mem::take(&mut self.rows);
        order::sort_by(&mut rows, |a: &Row, b| a.name.cmp_as_text(&b.name));
        rows.dedup_by(|again, first| {
            let is_same = again.name == first.name;
            if is_same {
                self.exclude(&again.name, "it is there twice, and the first counts");
            }
            is_same
        });
        self.rows = rows;
    }
}

/// Why an entry is excluded.
#[derive(Debug, thiserror::Error)]
enum InvalidEntry {
    #[error("its {0} bytes are more than the {MAX_ENTRY_BYTES} that are read")]
    TooLong(usize),
    #[error("a proxy thread may have died while it parsed these bytes")]
    Retained,
    #[error("{QUARANTINED_REASON}")]
    Quarantined,
    #[error(transparent)]
    Name(#[from] crate::name::InvalidName),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("{0:?} is not a burst header")]
    Header(String),
}

fn parse_entry(name: &str, value: &RawValue, progress: &mut dyn ParseGuard) -> Result<Row, InvalidEntry> {
    let value = value.get();
    let length = name.len().saturating_add(value.len());
    if length > MAX_ENTRY_BYTES {
        return Err(InvalidEntry::TooLong(length));
    }
    match progress.begin(&format!("{name}: {value}")) {
        ParseDecision::Parse => {}
        ParseDecision::Retain => return Err(InvalidEntry::Retained),
        ParseDecision::Exclude => return Err(InvalidEntry::Quarantined),
    }
    let name = ObjectName::parse(name)?;
    if value.starts_with('{') {
        return Ok(crate::json::read::<LoadEntry<'_>>(value.as_bytes())?.row(name)?);
    }
    let header: String = crate::json::read(value.as_bytes())?;
    let (label, load) = header::parse(&header).ok_or(InvalidEntry::Header(header))?;
    Ok(Row {
        name,
        label,
        load,
        signals: Signals::default(),
        labels: Box::default(),
    })
}

/// An entry of `format=json`.
#[derive(Deserialize)]
struct LoadEntry<'a> {
    #[serde(borrow)]
    service: Cow<'a, str>,
    current: u32,
    target: u32,
    max: u32,
    #[serde(default)]
    ready: Option<u32>,
    #[serde(default)]
    demand: Option<u32>,
    #[serde(borrow, default)]
    state: Option<Cow<'a, str>>,
}

impl LoadEntry<'_> {
    /// A state of a newer hub is not known here.
    fn row(self, name: ObjectName) -> Result<Row, crate::name::InvalidName> {
        Ok(Row {
            name,
            label: ObjectName::parse(&self.service)?,
            load: Load {
                current: self.current,
                target: self.target,
                max: self.max,
            },
            signals: Signals {
                ready: self.ready,
                demand: self.demand,
                state: self.state.as_deref().and_then(ScalingState::find),
            },
            labels: Box::default(),
        })
    }
}

/// Visits the entries of a JSON object one by one, including repeated names.
struct JsonEntries<'s> {
    services: &'s mut HubServices,
    progress: &'s mut dyn ParseGuard,
}

/// The name of an entry, borrowed from the body unless it contains an escape.
#[derive(Deserialize)]
struct EntryName<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> DeserializeSeed<'de> for JsonEntries<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for JsonEntries<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of Services")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some((EntryName(name), value)) = map.next_entry::<EntryName<'de>, &RawValue>()? {
            self.services.add(&name, value, self.progress);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash;
    use crate::index::{SERVICES, Table};
    use crate::serve::BulkBody;
    use crate::snapshot::{self, Snapshot};
    use proptest::prelude::*;

    const WEB: &str = "service=shop/web, current-load=1, target-load=4, max-load=5";

    fn names(services: &HubServices) -> Vec<String> {
        services.rows.iter().map(|row| row.name.to_string()).collect()
    }

    #[test]
    fn a_hubs_body_is_parsed_and_renders_to_the_same_tag() {
        let body = format!(r#"{{"shop/web": "{WEB}", "a-b/x": "{WEB}", "a/x": "{WEB}"}}"#);
        let services = parse(body.as_bytes(), &mut ()).unwrap();
        assert_eq!(names(&services), ["a-b/x", "a/x", "shop/web"]);
        let table = Table::from([(SERVICES.into(), services.rows)]);
        let snapshot = Snapshot::open(snapshot::write(&table, 1)).unwrap();
        let again = BulkBody::render(snapshot.section(SERVICES).unwrap());
        let sorted =
            format!("{{\n    \"a-b/x\": \"{WEB}\",\n    \"a/x\": \"{WEB}\",\n    \"shop/web\": \"{WEB}\"\n}}\n");
        let tag = format!("\"{:016x}\"", hash::of_bytes(sorted.as_bytes()));
        assert_eq!(again.etag(), tag, "so it has the hub's own tag");
    }

    #[test]
    fn an_entry_may_be_the_numbers_of_a_hub_that_is_asked_for_json() {
        let with = |more: &str| {
            let numbers = r#""service": "shop/web-1", "current": 1, "target": 4, "max": 5, "asOf": 7"#;
            let body = format!(r#"{{"shop/web": {{{numbers}{more}}}, "shop/x": "{WEB}"}}"#);
            let services = parse(body.as_bytes(), &mut ()).unwrap();
            assert_eq!(services.rows.last().map(|row| row.signals), Some(Signals::default()));
            match services.invalid.into_iter().next() {
                Some(InvalidItem { reason, .. }) => Err(reason),
                None => Ok((
                    services.rows[0].label.to_string(),
                    services.rows[0].load,
                    services.rows[0].signals,
                )),
            }
        };
        let load = Load {
            current: 1,
            target: 4,
            max: 5,
        };
        let of = |signals| Ok(("shop/web-1".to_owned(), load, signals));
        let known = Signals {
            ready: Some(3),
            demand: Some(7),
            state: Some(ScalingState::Limited),
        };
        assert_eq!(with(r#", "ready": 3, "demand": 7, "state": "limited""#), of(known));
        assert_eq!(with(""), of(Signals::default()));
        assert_eq!(
            with(r#", "state": "of a newer hub", "more": [1]"#),
            of(Signals::default())
        );
        assert!(with(r#", "ready": -1"#).unwrap_err().contains("invalid value"));
        assert!(with(r#", "service": "x""#).unwrap_err().contains("duplicate field"));
    }

    #[test]
    fn one_invalid_entry_costs_one_entry() {
        let long = "x".repeat(100_000);
        for (entry, why) in [
            (format!(r#""web": "{WEB}""#), "not a DNS-1123"),
            (
                format!(r#""shop/{long}": "{WEB}""#),
                "its 100066 bytes are more than the 4096 that are read",
            ),
            (format!(r#""shop/{}": "{WEB}""#, "x".repeat(1000)), "not a DNS-1123"),
            (format!(r#""shop/\u0000": "{WEB}""#), "not a DNS-1123"),
            (r#""shop/bad": 7"#.into(), "invalid type: integer `7`"),
            (
                format!(r#""shop/bad": {}1{}"#, "[".repeat(100), "]".repeat(100)),
                "invalid type: sequence",
            ),
            (r#""shop/bad": "full""#.into(), r#""full" is not a burst header"#),
            (
                format!(r#""shop/bad": "{}""#, WEB.replace("=5", "=99999999999")),
                "is not a burst header",
            ),
            (
                format!(r#""shop/web": "{}""#, WEB.replace("=1", "=2")),
                "it is there twice, and the first counts",
            ),
        ] {
            let body = format!(r#"{{"shop/web": "{WEB}", {entry}, "shop/x": "{WEB}"}}"#);
            let services = parse(body.as_bytes(), &mut ()).unwrap();
            assert_eq!(names(&services), ["shop/web", "shop/x"], "{why}");
            assert_eq!(services.rows[0].load.current, 1);
            let [InvalidItem { name, reason }] = &services.invalid[..] else {
                panic!("{:?}", services.invalid)
            };
            assert!(reason.contains(why), "{reason}");
            assert!(
                name.len() <= MAX_NAME_BYTES + 40 && reason.len() < 400,
                "fit for a log line"
            );
        }
    }

    #[test]
    fn of_many_invalid_entries_the_first_are_named_and_the_others_counted() {
        let bad: String = (0..10 * MAX_INVALID).map(|n| format!(r#""{n}": {n}, "#)).collect();
        let body = format!(r#"{{{bad}"shop/web": "{WEB}", "shop/web": "{WEB}"}}"#);
        let services = parse(body.as_bytes(), &mut ()).unwrap();
        assert_eq!(names(&services), ["shop/web"]);
        assert_eq!(
            (services.invalid.len(), services.more_invalid),
            (MAX_INVALID, 9 * MAX_INVALID + 1)
        );
        assert_eq!(services.invalid[0].name, "0");
    }

    #[test]
    fn the_longest_entry_of_a_hub_is_read() {
        let name = format!("{}/{}", "n".repeat(253), "s".repeat(253));
        let header = WEB.replace("shop/web", &name);
        let body = format!(r#"{{"{name}": "{header}"}}"#);
        assert_eq!(names(&parse(body.as_bytes(), &mut ()).unwrap()), [name]);
    }

    #[test]
    fn invalid_utf8_costs_only_the_entry_that_contains_it() {
        let bytes = [
            b"{\"shop/\xff\": \"\", \"shop/web\": \"",
            WEB.as_bytes(),
            b"\", \"a/b\": \"\xc3\"}",
        ]
        .concat();
        let services = parse(&bytes, &mut ()).unwrap();
        assert_eq!(
            (names(&services), services.invalid.len()),
            (vec!["shop/web".to_owned()], 2)
        );
    }

    #[test]
    fn a_body_that_is_not_an_object_is_refused() {
        for body in ["", "[]", "null", "<html>", r#"{"a/b": "#, r#"{"a/b": 1} {"#] {
            assert!(
                matches!(parse(body.as_bytes(), &mut ()), Err(Failure::Malformed(_))),
                "{body}"
            );
        }
    }

    struct ExcludesWeb;

    impl ParseGuard for ExcludesWeb {
        fn begin(&mut self, item: &str) -> ParseDecision {
            match item.starts_with("shop/web: ") {
                true => ParseDecision::Exclude,
                false => ParseDecision::Parse,
            }
        }
    }

    #[test]
    fn a_quarantined_entry_is_excluded() {
        let body = format!(r#"{{"shop/web": "{WEB}", "shop/x": "{WEB}"}}"#);
        let services = parse(body.as_bytes(), &mut ExcludesWeb).unwrap();
        assert_eq!(names(&services), ["shop/x"]);
        assert_eq!(services.invalid[0].reason, QUARANTINED_REASON);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(body in proptest::collection::vec(any::<u8>(), 0..512)) {
            let _ = parse(&body, &mut ());
        }

        #[test]
        fn parsed_services_make_a_valid_snapshot(
            entries in proptest::collection::vec(("[a-c]/[a-c-]{1,2}|.{0,9}", "[a-c]/[a-c-]{1,2}", any::<u32>()), 0..12),
        ) {
            let entry = |(name, label, max): (String, String, u32)| {
                let value = format!("service={label}, current-load=1, target-load=4, max-load={max}");
                format!("{}: {}", serde_json::to_string(&name).unwrap(), serde_json::to_string(&value).unwrap())
            };
            let count = entries.len();
            let body = format!("{{{}}}", entries.into_iter().map(entry).collect::<Vec<_>>().join(","));
            let HubServices { rows, invalid, more_invalid } = parse(body.as_bytes(), &mut ()).unwrap();
            prop_assert_eq!((rows.len() + invalid.len(), more_invalid), (count, 0));
            let table = Table::from([(SERVICES.into(), rows)]);
            prop_assert!(Snapshot::open(snapshot::write(&table, 1)).is_ok());
        }
    }
}
