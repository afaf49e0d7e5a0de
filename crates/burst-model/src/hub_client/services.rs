//! The Services in a hub's answer: `namespace/name` to header, as JSON. What is no such entry costs itself and nothing
//! else, so that a hub with one odd Service still serves the others; and what is kept of such entries has a limit, so that
//! a hub with nothing else costs no memory.

use crate::index::Row;
use crate::kube::page::{InvalidItem, MAX_NAME_BYTES, QUARANTINED_REASON};
use crate::kube::{Failure, ParseDecision, ParseGuard};
use crate::name::ObjectName;
use crate::order;
use crate::printable::{LONGEST_QUOTE, printable};
use crate::serve::header;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Entries that are left out and remembered by name; the others are counted.
pub(super) const MOST_BAD: usize = 100;

/// Bytes of an entry, name and header together: twice what the longest that a hub writes has.
const LONGEST_ENTRY: usize = 4 << 10;

/// All that a hub knows.
#[derive(Debug, Default)]
pub struct HubServices {
    /// Sorted by `namespace/name`.
    pub rows: Vec<Row>,
    /// The entries that are left out, with the reason: the first hundred.
    pub bad: Vec<InvalidItem>,
    /// How many are left out besides.
    pub more_bad: usize,
}

/// Reads the body of a bulk answer.
///
/// # Errors
/// It is no JSON object.
pub(super) fn read(body: &[u8], progress: &mut dyn ParseGuard) -> Result<HubServices, Failure> {
    let text = readable(body);
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

/// The body as text, with one character in the place of bytes that are none: it is in no name and in no header. The
/// longer replacement character would make three times as much of a body of nothing else.
fn readable(body: &[u8]) -> Cow<'_, str> {
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
    fn take(&mut self, name: &str, value: &RawValue, progress: &mut dyn ParseGuard) {
        match read_entry(name, value, progress) {
            Ok(row) => self.rows.push(row),
            Err(reason) => self.leave_out(name, reason),
        }
    }

    fn leave_out(&mut self, name: impl fmt::Display, reason: impl fmt::Display) {
        if self.bad.len() >= MOST_BAD {
            self.more_bad = self.more_bad.saturating_add(1);
            return;
        }
        self.bad.push(InvalidItem {
            name: printable(name, MAX_NAME_BYTES),
            reason: printable(reason, LONGEST_QUOTE),
        });
    }

    fn sort(&mut self) {
        let mut rows = std::mem::take(&mut self.rows);
        order::sort_by(&mut rows, |a: &Row, b| a.of.cmp_as_text(&b.of));
        rows.dedup_by(|again, first| {
            let is_same = again.of == first.of;
            if is_same {
                self.leave_out(&again.of, "it is there twice, and the first counts");
            }
            is_same
        });
        self.rows = rows;
    }
}

/// Why an entry is left out.
#[derive(Debug, thiserror::Error)]
enum InvalidEntry {
    #[error("its {0} bytes are more than the {LONGEST_ENTRY} that are read")]
    TooLong(usize),
    #[error("a proxy thread may have died while it parsed these bytes")]
    Held,
    #[error("{QUARANTINED_REASON}")]
    Quarantined,
    #[error(transparent)]
    Name(#[from] crate::name::InvalidName),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("{0:?} is no burst header")]
    Header(String),
}

fn read_entry(name: &str, value: &RawValue, progress: &mut dyn ParseGuard) -> Result<Row, InvalidEntry> {
    let value = value.get();
    let length = name.len().saturating_add(value.len());
    if length > LONGEST_ENTRY {
        return Err(InvalidEntry::TooLong(length));
    }
    match progress.begin(&format!("{name}: {value}")) {
        ParseDecision::Parse => {}
        ParseDecision::Retain => return Err(InvalidEntry::Held),
        ParseDecision::Exclude => return Err(InvalidEntry::Quarantined),
    }
    let of = ObjectName::parse(name)?;
    let header: String = crate::json::read(value.as_bytes())?;
    let (label, load) = header::read(&header).ok_or(InvalidEntry::Header(header))?;
    Ok(Row {
        of,
        label,
        load,
        labels: Box::default(),
    })
}

/// The entries of a JSON object, each taken as it comes, those of the same name too.
struct JsonEntries<'s> {
    services: &'s mut HubServices,
    progress: &'s mut dyn ParseGuard,
}

/// A name, not copied where nothing in it is escaped.
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
            self.services.take(&name, value, self.progress);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash;
    use crate::index::{SERVICES, Table};
    use crate::serve::burst::BulkBody;
    use crate::snapshot::{self, Snapshot};
    use proptest::prelude::*;

    const WEB: &str = "service=shop/web, current-load=1, target-load=4, max-load=5";

    fn names(services: &HubServices) -> Vec<String> {
        services.rows.iter().map(|row| row.of.to_string()).collect()
    }

    #[test]
    fn what_a_hub_writes_is_read_to_the_letter() {
        let body = format!(r#"{{"shop/web": "{WEB}", "a-b/x": "{WEB}", "a/x": "{WEB}"}}"#);
        let services = read(body.as_bytes(), &mut ()).unwrap();
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
    fn one_bad_entry_costs_one_entry() {
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
            (r#""shop/bad": "full""#.into(), r#""full" is no burst header"#),
            (
                format!(r#""shop/bad": "{}""#, WEB.replace("=5", "=99999999999")),
                "is no burst header",
            ),
            (
                format!(r#""shop/web": "{}""#, WEB.replace("=1", "=2")),
                "it is there twice, and the first counts",
            ),
        ] {
            let body = format!(r#"{{"shop/web": "{WEB}", {entry}, "shop/x": "{WEB}"}}"#);
            let services = read(body.as_bytes(), &mut ()).unwrap();
            assert_eq!(names(&services), ["shop/web", "shop/x"], "{why}");
            assert_eq!(services.rows[0].load.current, 1);
            let [InvalidItem { name, reason }] = &services.bad[..] else {
                panic!("{:?}", services.bad)
            };
            assert!(reason.contains(why), "{reason}");
            assert!(
                name.len() <= MAX_NAME_BYTES + 40 && reason.len() < 400,
                "fit for a log line"
            );
        }
    }

    #[test]
    fn of_many_bad_entries_the_first_are_named_and_the_others_counted() {
        let bad: String = (0..10 * MOST_BAD).map(|n| format!(r#""{n}": {n}, "#)).collect();
        let body = format!(r#"{{{bad}"shop/web": "{WEB}", "shop/web": "{WEB}"}}"#);
        let services = read(body.as_bytes(), &mut ()).unwrap();
        assert_eq!(names(&services), ["shop/web"]);
        assert_eq!((services.bad.len(), services.more_bad), (MOST_BAD, 9 * MOST_BAD + 1));
        assert_eq!(services.bad[0].name, "0");
    }

    #[test]
    fn the_longest_entry_of_a_hub_is_read() {
        let name = format!("{}/{}", "n".repeat(253), "s".repeat(253));
        let header = WEB.replace("shop/web", &name);
        let body = format!(r#"{{"{name}": "{header}"}}"#);
        assert_eq!(names(&read(body.as_bytes(), &mut ()).unwrap()), [name]);
    }

    #[test]
    fn bytes_that_are_no_text_cost_the_entry_they_are_in() {
        let bytes = [
            b"{\"shop/\xff\": \"\", \"shop/web\": \"",
            WEB.as_bytes(),
            b"\", \"a/b\": \"\xc3\"}",
        ]
        .concat();
        let services = read(&bytes, &mut ()).unwrap();
        assert_eq!((names(&services), services.bad.len()), (vec!["shop/web".to_owned()], 2));
    }

    #[test]
    fn what_is_no_object_is_refused_whole() {
        for body in ["", "[]", "null", "<html>", r#"{"a/b": "#, r#"{"a/b": 1} {"#] {
            assert!(
                matches!(read(body.as_bytes(), &mut ()), Err(Failure::Malformed(_))),
                "{body}"
            );
        }
    }

    struct Deadly;

    impl ParseGuard for Deadly {
        fn begin(&mut self, item: &str) -> ParseDecision {
            match item.starts_with("shop/web: ") {
                true => ParseDecision::Exclude,
                false => ParseDecision::Parse,
            }
        }
    }

    #[test]
    fn an_entry_that_killed_a_thread_is_left_out() {
        let body = format!(r#"{{"shop/web": "{WEB}", "shop/x": "{WEB}"}}"#);
        let services = read(body.as_bytes(), &mut Deadly).unwrap();
        assert_eq!(names(&services), ["shop/x"]);
        assert_eq!(services.bad[0].reason, QUARANTINED_REASON);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_survived(body in proptest::collection::vec(any::<u8>(), 0..512)) {
            let _ = read(&body, &mut ());
        }

        #[test]
        fn what_is_taken_makes_a_whole_snapshot(
            entries in proptest::collection::vec(("[a-c]/[a-c-]{1,2}|.{0,9}", "[a-c]/[a-c-]{1,2}", any::<u32>()), 0..12),
        ) {
            let entry = |(of, label, max): (String, String, u32)| {
                let value = format!("service={label}, current-load=1, target-load=4, max-load={max}");
                format!("{}: {}", serde_json::to_string(&of).unwrap(), serde_json::to_string(&value).unwrap())
            };
            let count = entries.len();
            let body = format!("{{{}}}", entries.into_iter().map(entry).collect::<Vec<_>>().join(","));
            let HubServices { rows, bad, more_bad } = read(body.as_bytes(), &mut ()).unwrap();
            prop_assert_eq!((rows.len() + bad.len(), more_bad), (count, 0));
            let table = Table::from([(SERVICES.into(), rows)]);
            prop_assert!(Snapshot::open(snapshot::write(&table, 1)).is_ok());
        }
    }
}
