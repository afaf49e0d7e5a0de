//! `format=gtm`: the XML load object that Akamai Global Traffic Management fetches, and the body that its Load Feedback API
//! takes. <https://techdocs.akamai.com/gtm/docs/load-object-formats>,
//! <https://techdocs.akamai.com/gtm-load-feedback/reference/api-workflow>

use super::Rows;
use crate::time::Time;
use humantime::format_rfc3339_seconds;
use std::fmt::{self, Write};
use std::time::{Duration, UNIX_EPOCH};

/// A resource of short names.
const TYPICAL_RESOURCE: usize = 176;

/// What the load object says besides the numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::serve) struct LoadObject {
    /// The GTM domain, such as `example.akadns.net`.
    pub(in crate::serve) domain: String,
    /// The data center whose load it is.
    pub(in crate::serve) datacenter: DatacenterKey,
    /// The name of the resource, for one object; `None` for `namespace/name`.
    pub(in crate::serve) resource: Option<String>,
}

/// How a data center is named. The two readers of load objects differ in that, and in the name of the maximum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::serve) enum DatacenterKey {
    /// By its name, as in the load objects that GTM fetches. The maximum is the `capacity`.
    Name(String),
    /// By its number, as the Load Feedback API has it. The maximum is the `max-load`.
    Id(u32),
}

impl DatacenterKey {
    fn max(&self) -> &'static str {
        match self {
            Self::Name(_) => "capacity",
            Self::Id(_) => "max-load",
        }
    }
}

pub(super) fn render(object: &LoadObject, rows: &Rows<'_>, as_of: Time) -> String {
    let mut body = String::with_capacity(512 + rows.len() * TYPICAL_RESOURCE);
    // Writing into a string cannot fail.
    let _ = load_object(&mut body, object, rows, as_of);
    body
}

fn load_object(body: &mut String, object: &LoadObject, rows: &Rows<'_>, as_of: Time) -> fmt::Result {
    const NAMESPACE: &str = "http://www.akamai.com/FirstPoint/load-balancing";
    let domain = Attribute(&object.domain);
    write!(
        body,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <load-object domain=\"{domain}\" timestamp=\"{}\" version=\"1\" xmlns=\"{NAMESPACE}\">\n",
        timestamp(as_of)
    )?;
    match &object.datacenter {
        DatacenterKey::Name(name) => writeln!(body, "  <datacenter name=\"{}\">", Attribute(name))?,
        DatacenterKey::Id(id) => writeln!(body, "  <datacenter datacenterId=\"{id}\">")?,
    }
    let max = object.datacenter.max();
    for row in rows.iter() {
        let name = Attribute(object.resource.as_deref().unwrap_or(row.name));
        write!(
            body,
            "    <resource name=\"{name}\">\n      \
             <current-load>{}</current-load>\n      \
             <target-load>{}</target-load>\n      \
             <{max}>{}</{max}>\n    \
             </resource>\n",
            row.load.current, row.load.target, row.load.max
        )?;
    }
    body.write_str("  </datacenter>\n</load-object>\n")
}

/// The time of the read as `xsd:dateTime` in UTC. A time after the year 9999 is cut to the Unix epoch, which no reader takes
/// for current.
fn timestamp(as_of: Time) -> impl fmt::Display {
    const YEAR_10000: u64 = 253_402_300_800;
    let seconds = Some(as_of.unix_seconds()).filter(|seconds| *seconds < YEAR_10000);
    format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(seconds.unwrap_or_default()))
}

/// The value of an XML attribute.
struct Attribute<'a>(&'a str);

impl fmt::Display for Attribute<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.contains(['&', '<', '>', '"', '\'']) {
            return f.write_str(self.0);
        }
        self.0.chars().try_for_each(|char| match char {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            '\'' => f.write_str("&apos;"),
            other => f.write_char(other),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_an_attribute_is_escaped() {
        assert_eq!(Attribute("a&b<c>d\"e'f").to_string(), "a&amp;b&lt;c&gt;d&quot;e&apos;f");
        assert_eq!(Attribute("shop/web").to_string(), "shop/web");
    }

    #[test]
    fn a_time_without_a_calendar_date_is_the_epoch() {
        for (millis, text) in [
            (1_700_000_000_999, "2023-11-14T22:13:20Z"),
            (253_402_300_799_000, "9999-12-31T23:59:59Z"),
            (253_402_300_800_000, "1970-01-01T00:00:00Z"),
            (u64::MAX, "1970-01-01T00:00:00Z"),
        ] {
            assert_eq!(timestamp(Time::from_unix_millis(millis)).to_string(), text, "{millis}");
        }
    }
}
