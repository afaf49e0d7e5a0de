//! Chooses the format of a response from the `accept` header.
//!
//! Protobuf is not needed: clients that prefer it also accept JSON.

use crate::status::StatusError;

/// A format that a response can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseFormat {
    Json,
    /// `meta.k8s.io` `Table` of this version, which kubectl prints as it is.
    Table(&'static str),
    /// `apidiscovery.k8s.io` `APIGroupDiscoveryList` of this version.
    Aggregated(&'static str),
}

/// The formats that a client accepts, in the order of its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AcceptedFormats(Vec<ResponseFormat>);

impl AcceptedFormats {
    /// Parses an `accept` header. An empty header accepts JSON.
    pub(crate) fn parse(header: &[u8]) -> Self {
        let Ok(header) = std::str::from_utf8(header) else {
            return Self(Vec::new());
        };
        if header.trim().is_empty() {
            return Self(vec![ResponseFormat::Json]);
        }
        let mut formats = Vec::new();
        for format in header.split(',').filter_map(parse_media_range) {
            // A long header is not a long list.
            if !formats.contains(&format) {
                formats.push(format);
            }
        }
        Self(formats)
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
}

fn parse_media_range(range: &str) -> Option<ResponseFormat> {
    let mut parts = range.split(';').map(str::trim);
    let media_type = parts.next()?;
    let (mut kind, mut group, mut version, mut is_refused) = ("", "", "", false);
    for (key, value) in parts.filter_map(|part| part.split_once('=')) {
        match key {
            "as" => kind = value,
            "g" => group = value,
            "v" => version = value,
            "q" => is_refused = value.trim_matches(['0', '.']).is_empty(),
            _ => {}
        }
    }
    let is_json = ["application/json", "application/*", "*/*"].contains(&media_type.to_ascii_lowercase().as_str());
    if is_refused || !is_json {
        return None;
    }
    match (kind, group, version) {
        ("", _, _) => Some(ResponseFormat::Json),
        ("Table", "meta.k8s.io", "v1") => Some(ResponseFormat::Table("v1")),
        ("Table", "meta.k8s.io", "v1beta1") => Some(ResponseFormat::Table("v1beta1")),
        ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2") => Some(ResponseFormat::Aggregated("v2")),
        ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2beta1") => Some(ResponseFormat::Aggregated("v2beta1")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_supported_format_is_chosen() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        let groups = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        for (accept, format) in [
            ("", Some(ResponseFormat::Json)),
            ("*/*", Some(ResponseFormat::Json)),
            ("application/*;q=0.5", Some(ResponseFormat::Json)),
            ("application/vnd.kubernetes.protobuf, */*", Some(ResponseFormat::Json)),
            (
                "application/vnd.kubernetes.protobuf,application/json",
                Some(ResponseFormat::Json),
            ),
            (&format!("{table},application/json"), Some(ResponseFormat::Table("v1"))),
            (
                &format!("{groups},application/json"),
                Some(ResponseFormat::Aggregated("v2")),
            ),
            ("application/vnd.kubernetes.protobuf", None),
            ("text/html, application/json;q=0", None),
            ("application/json;as=Table;v=v9;g=meta.k8s.io", None),
            ("\u{7f}", None),
        ] {
            assert_eq!(
                AcceptedFormats::parse(accept.as_bytes()).choose(|_| true).ok(),
                format,
                "{accept}"
            );
        }
        let accept = AcceptedFormats::parse(format!("{table},application/json").as_bytes());
        let only_json = accept.choose(|format| format == ResponseFormat::Json);
        assert_eq!(only_json, Ok(ResponseFormat::Json));
        assert!(AcceptedFormats::parse(b"\xff").choose(|_| true).is_err());
    }

    #[test]
    fn a_repeated_format_is_kept_once() {
        let accept = AcceptedFormats::parse("*/*,".repeat(1_000).as_bytes());
        assert_eq!(accept, AcceptedFormats(vec![ResponseFormat::Json]));
    }
}
