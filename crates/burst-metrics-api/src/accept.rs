//! Chooses the format of a response from the `accept` header, as kube-apiserver does.
//! <https://github.com/kubernetes/apiserver/blob/v0.36.3/pkg/endpoints/handlers/negotiation/negotiate.go>

use crate::encoding::Encoding;
use crate::status::StatusError;

/// A header may be long. What follows this number of media ranges is ignored.
const MAX_RANGES: usize = 32;

/// A format that a response can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResponseFormat {
    pub(crate) encoding: Encoding,
    pub(crate) transform: Transform,
}

/// The kind of object in place of the endpoint's own, with its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transform {
    None,
    /// `meta.k8s.io` `Table`, which kubectl prints as it is.
    Table(&'static str),
    /// `apidiscovery.k8s.io` `APIGroupDiscoveryList`.
    Aggregated(&'static str),
}

/// The formats that a client accepts. The one that it prefers comes first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AcceptedFormats(Vec<ResponseFormat>);

impl AcceptedFormats {
    /// Parses an `accept` header. An empty header accepts JSON.
    pub(crate) fn parse(header: &[u8]) -> Self {
        let Ok(header) = std::str::from_utf8(header) else {
            return Self(Vec::new());
        };
        if header.is_empty() {
            return Self(vec![ResponseFormat {
                encoding: Encoding::Json,
                transform: Transform::None,
            }]);
        }
        let mut ranges: Vec<_> = header
            .split(',')
            .take(MAX_RANGES)
            .filter_map(MediaRange::parse)
            .collect();
        sort_by_preference(&mut ranges);
        Self(ranges.iter().flat_map(MediaRange::formats).collect())
    }

    /// The first accepted format that the endpoint supports.
    ///
    /// # Errors
    /// `406` if there is none.
    pub(crate) fn choose(&self, is_supported: impl Fn(ResponseFormat) -> bool) -> Result<ResponseFormat, StatusError> {
        self.0
            .iter()
            .copied()
            .find(|format| is_supported(*format))
            .ok_or_else(StatusError::not_acceptable)
    }

    /// The format of an object that has no other form than its own.
    ///
    /// # Errors
    /// `406` if the client accepts none.
    pub(crate) fn encoding(&self) -> Result<Encoding, StatusError> {
        let format = self.choose(|format| format.transform == Transform::None)?;
        Ok(format.encoding)
    }

    /// The format of an error. A client that accepts none gets JSON.
    pub(crate) fn error_encoding(&self) -> Encoding {
        self.encoding().unwrap_or(Encoding::Json)
    }
}

/// A part of the header, such as `application/json;q=0.5`.
#[derive(Debug)]
struct MediaRange<'a> {
    main_type: &'a str,
    subtype: &'a str,
    /// The weight in thousandths.
    quality: u32,
    /// `None` if the client asks for a kind of object that no endpoint has.
    transform: Option<Transform>,
}

impl<'a> MediaRange<'a> {
    /// `None` if it is malformed.
    fn parse(text: &'a str) -> Option<Self> {
        let (media_type, parameters) = split_first(text, ';');
        let (main_type, rest) = split_first(media_type, '/');
        let (subtype, excess) = split_first(rest, '/');
        let main_type = main_type.trim_matches(' ');
        let subtype = match rest {
            "" if main_type == "*" => "*",
            _ if rest.is_empty() || !excess.is_empty() => return None,
            _ => subtype.trim_matches(' '),
        };
        let (mut quality, mut transform) = (1_000, None::<[&str; 3]>);
        for (key, value) in parameters.split(';').filter_map(parse_parameter) {
            let field = match key {
                "q" => {
                    quality = parse_weight(value).unwrap_or_default();
                    continue;
                }
                "as" => 0,
                "g" => 1,
                "v" => 2,
                _ => continue,
            };
            if let Some(field) = transform.get_or_insert_default().get_mut(field) {
                *field = value.trim_matches(' ');
            }
        }
        Some(Self {
            main_type,
            subtype,
            quality,
            transform: match transform {
                None => Some(Transform::None),
                Some([kind, group, version]) => find_transform(kind, group, version),
            },
        })
    }

    /// The formats that it accepts.
    fn formats(&self) -> impl Iterator<Item = ResponseFormat> {
        let encodings = Encoding::ALL
            .into_iter()
            .filter(|encoding| self.matches(encoding.media_type()));
        encodings.filter_map(|encoding| {
            let transform = self.transform?;
            Some(ResponseFormat { encoding, transform })
        })
    }

    fn matches(&self, media_type: &str) -> bool {
        match (self.main_type, self.subtype) {
            ("*", "*") => true,
            (main_type, "*") => media_type.split_once('/').is_some_and(|(other, _)| other == main_type),
            (main_type, subtype) => media_type.split_once('/') == Some((main_type, subtype)),
        }
    }

    /// Whether kube-apiserver prefers it to another one: by its weight or, whatever the weights, because the other one has a
    /// wildcard that this one has not.
    fn precedes(&self, other: &Self) -> bool {
        self.quality > other.quality
            || self.main_type != "*" && other.main_type == "*"
            || self.subtype != "*" && other.subtype == "*"
    }
}

fn parse_parameter(text: &str) -> Option<(&str, &str)> {
    let (key, rest) = split_first(text, '=');
    let (value, excess) = split_first(rest, '=');
    (!rest.is_empty() && excess.is_empty()).then_some((key.trim_matches(' '), value))
}

/// Parses a weight such as `0.5`, in thousandths. `None` if it is not a decimal number.
///
/// The parser of the standard library would add 15 KB to the module, most of it a table.
/// <https://www.rfc-editor.org/rfc/rfc9110#name-quality-values>
fn parse_weight(text: &str) -> Option<u32> {
    let (whole, fraction) = split_first(text, '.');
    let is_decimal = format!("{whole}{fraction}").bytes().all(|byte| byte.is_ascii_digit());
    let digits = format!("{fraction:0<3}");
    let thousandths: u32 = digits.get(..3)?.parse().ok()?;
    (is_decimal && !whole.is_empty()).then_some(whole.parse::<u32>().ok()?.checked_mul(1_000)? + thousandths)
}

/// The text before a separator, and the text after it.
fn split_first(text: &str, separator: char) -> (&str, &str) {
    text.split_once(separator).unwrap_or((text, ""))
}

fn find_transform(kind: &str, group: &str, version: &str) -> Option<Transform> {
    match (kind, group, version) {
        ("Table", "meta.k8s.io", "v1") => Some(Transform::Table("v1")),
        ("Table", "meta.k8s.io", "v1beta1") => Some(Transform::Table("v1beta1")),
        ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2") => Some(Transform::Aggregated("v2")),
        ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2beta1") => Some(Transform::Aggregated("v2beta1")),
        _ => None,
    }
}

/// An insertion sort. kube-apiserver's order is not transitive, so another algorithm would give another result.
fn sort_by_preference(ranges: &mut [MediaRange<'_>]) {
    for end in 1..ranges.len() {
        for at in (1..=end).rev() {
            let is_in_order = match ranges.get(at - 1..=at) {
                Some([before, this]) => !this.precedes(before),
                _ => true,
            };
            if is_in_order {
                break;
            }
            ranges.swap(at - 1, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(accept: &str) -> Option<(Encoding, Transform)> {
        let format = AcceptedFormats::parse(accept.as_bytes()).choose(|_| true).ok()?;
        Some((format.encoding, format.transform))
    }

    #[test]
    fn the_first_accepted_format_is_chosen() {
        use Encoding::{Json, Protobuf, Yaml};
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        let groups = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        for (accept, expected) in [
            ("", Some((Json, Transform::None))),
            ("*/*", Some((Json, Transform::None))),
            ("*", Some((Json, Transform::None))),
            ("application/*;q=0.5", Some((Json, Transform::None))),
            ("application/yaml", Some((Yaml, Transform::None))),
            (
                "application/vnd.kubernetes.protobuf, */*",
                Some((Protobuf, Transform::None)),
            ),
            (
                "application/vnd.kubernetes.protobuf;q=0.5,application/json;q=0.9",
                Some((Json, Transform::None)),
            ),
            // A wildcard comes last, whatever its weight.
            ("*/*;q=1,application/yaml;q=0.1", Some((Yaml, Transform::None))),
            ("text/html, application/json;q=0", Some((Json, Transform::None))),
            (
                &format!("{table},application/json"),
                Some((Json, Transform::Table("v1"))),
            ),
            (
                &format!("{groups},application/json"),
                Some((Json, Transform::Aggregated("v2"))),
            ),
            ("text/html", None),
            ("application/json/x", None),
            ("application", None),
            ("application/json;as=Table;v=v9;g=meta.k8s.io", None),
            ("\u{7f}", None),
        ] {
            assert_eq!(first(accept), expected, "{accept}");
        }
        assert!(AcceptedFormats::parse(b"\xff").choose(|_| true).is_err());
    }

    #[test]
    fn an_object_without_another_form_takes_the_first_plain_format() {
        let accept = AcceptedFormats::parse(b"application/json;as=Table;v=v1;g=meta.k8s.io,application/yaml");
        assert_eq!(accept.encoding(), Ok(Encoding::Yaml));
        assert_eq!(AcceptedFormats::parse(b"text/html").error_encoding(), Encoding::Json);
    }

    #[test]
    fn a_long_header_is_a_short_list() {
        let accept = AcceptedFormats::parse("text/html,".repeat(1_000).as_bytes());
        assert_eq!(accept, AcceptedFormats(Vec::new()));
        let accept = AcceptedFormats::parse("*/*,".repeat(1_000).as_bytes());
        assert_eq!(accept.0.len(), MAX_RANGES * Encoding::ALL.len());
    }
}
