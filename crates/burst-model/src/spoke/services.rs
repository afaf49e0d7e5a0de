//! The Services in a hub's answer: `namespace/name` to header, as JSON. What is no such entry costs itself and nothing
//! else, so that a hub with one odd Service still serves the others.

use crate::index::Row;
use crate::json;
use crate::kube::page::{Bad, LONGEST_NAME, QUARANTINED};
use crate::kube::{Admission, Failure, Progress};
use crate::name::ObjectName;
use crate::order;
use crate::printable::printable;
use crate::view::header;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// All that a hub knows.
#[derive(Debug, Default)]
pub struct Services {
    /// Sorted by `namespace/name`.
    pub rows: Vec<Row>,
    /// The entries that are left out, with the reason.
    pub bad: Vec<Bad>,
}

/// Reads the body of a bulk answer.
///
/// # Errors
/// It is no JSON object.
pub(super) fn read(body: &[u8], progress: &mut dyn Progress) -> Result<Services, Failure> {
    // What stands in the place of bytes that are no text is in no name and in no header.
    let text = String::from_utf8_lossy(body);
    let Entries(entries) = json::read(text.as_bytes()).map_err(|error| Failure::Malformed(error.to_string()))?;
    let (mut rows, mut bad) = (Vec::new(), Vec::new());
    for (name, value) in entries {
        match read_entry(&name, value, progress) {
            Ok(row) => rows.push(row),
            Err(reason) => bad.push(Bad {
                name: printable(&name, LONGEST_NAME),
                reason,
            }),
        }
    }
    order::sort_by(&mut rows, |a: &Row, b| a.of.cmp_as_text(&b.of));
    rows.dedup_by(|again, first| {
        let is_same = again.of == first.of;
        if is_same {
            bad.push(Bad {
                name: again.of.to_string(),
                reason: "it is there twice, and the first counts".into(),
            });
        }
        is_same
    });
    Ok(Services { rows, bad })
}

fn read_entry(name: &str, value: &RawValue, progress: &mut dyn Progress) -> Result<Row, String> {
    match progress.begin(&format!("{name}: {value}")) {
        Admission::Parse => {}
        Admission::Hold => return Err("a proxy thread may have died while it parsed these bytes".into()),
        Admission::LeaveOut => return Err(QUARANTINED.into()),
    }
    let of = ObjectName::parse(name).map_err(|error| error.to_string())?;
    let header: String = json::read(value.get().as_bytes()).map_err(|error| error.to_string())?;
    let (label, load) =
        header::read(&header).ok_or_else(|| format!("{:?} is no burst header", printable(&header, 100)))?;
    Ok(Row {
        of,
        label,
        load,
        labels: Box::default(),
    })
}

/// The entries of a JSON object in their order, those of the same name too.
struct Entries<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Object)
    }
}

struct Object;

impl<'de> Visitor<'de> for Object {
    type Value = Entries<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of Services")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<'de>, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Entries(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash;
    use crate::index::{SERVICES, Table};
    use crate::snapshot::{self, Snapshot};
    use crate::view::burst::Bulk;
    use proptest::prelude::*;

    const WEB: &str = "service=shop/web, current-load=1, target-load=4, max-load=5";

    fn names(services: &Services) -> Vec<String> {
        services.rows.iter().map(|row| row.of.to_string()).collect()
    }

    #[test]
    fn what_a_hub_writes_is_read_to_the_letter() {
        let body = format!(r#"{{"shop/web": "{WEB}", "a-b/x": "{WEB}", "a/x": "{WEB}"}}"#);
        let services = read(body.as_bytes(), &mut ()).unwrap();
        assert_eq!(names(&services), ["a-b/x", "a/x", "shop/web"]);
        let table = Table::from([(SERVICES.into(), services.rows)]);
        let snapshot = Snapshot::open(snapshot::write(&table, 1)).unwrap();
        let again = Bulk::render(snapshot.section(SERVICES).unwrap());
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
            (format!(r#""shop/{long}": "{WEB}""#), "not a DNS-1123"),
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
            let [Bad { name, reason }] = &services.bad[..] else {
                panic!("{:?}", services.bad)
            };
            assert!(reason.contains(why), "{reason}");
            assert!(name.len() <= LONGEST_NAME && reason.len() < 400, "fit for a log line");
        }
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

    impl Progress for Deadly {
        fn begin(&mut self, item: &str) -> Admission {
            match item.starts_with("shop/web: ") {
                true => Admission::LeaveOut,
                false => Admission::Parse,
            }
        }
    }

    #[test]
    fn an_entry_that_killed_a_thread_is_left_out() {
        let body = format!(r#"{{"shop/web": "{WEB}", "shop/x": "{WEB}"}}"#);
        let services = read(body.as_bytes(), &mut Deadly).unwrap();
        assert_eq!(names(&services), ["shop/x"]);
        assert_eq!(services.bad[0].reason, QUARANTINED);
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
            let Services { rows, bad } = read(body.as_bytes(), &mut ()).unwrap();
            prop_assert_eq!(rows.len() + bad.len(), count);
            let table = Table::from([(SERVICES.into(), rows)]);
            prop_assert!(Snapshot::open(snapshot::write(&table, 1)).is_ok());
        }
    }
}
