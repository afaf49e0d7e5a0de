//! What form an answer is to have. Protobuf is never needed: who prefers it takes JSON too.

use super::status::StatusError;

/// The forms there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResponseFormat {
    Json,
    /// `meta.k8s.io` Table of that version, which kubectl prints as it is.
    Table(&'static str),
    /// `apidiscovery.k8s.io` APIGroupDiscoveryList of that version.
    Aggregated(&'static str),
}

/// The first form of an `Accept` header that there is; JSON where it is empty.
pub(super) fn form(accept: &[u8], has: impl Fn(ResponseFormat) -> bool) -> Result<ResponseFormat, StatusError> {
    let Ok(accept) = std::str::from_utf8(accept) else {
        return Err(StatusError::not_acceptable());
    };
    if accept.trim().is_empty() {
        return Ok(ResponseFormat::Json);
    }
    let mut forms = accept.split(',').filter_map(range);
    forms.find(|form| has(*form)).ok_or_else(StatusError::not_acceptable)
}

/// The form of one media range.
fn range(range: &str) -> Option<ResponseFormat> {
    let mut parts = range.split(';').map(str::trim);
    let media = parts.next()?;
    let (mut kind, mut group, mut version, mut refused) = ("", "", "", false);
    for (key, value) in parts.filter_map(|part| part.split_once('=')) {
        match key {
            "as" => kind = value,
            "g" => group = value,
            "v" => version = value,
            "q" => refused = value.trim_matches(['0', '.']).is_empty(),
            _ => {}
        }
    }
    let is_json = ["application/json", "application/*", "*/*"].contains(&media.to_ascii_lowercase().as_str());
    if refused || !is_json {
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
    fn the_first_form_there_is_counts() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        let groups = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        for (accept, form) in [
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
            assert_eq!(super::form(accept.as_bytes(), |_| true).ok(), form, "{accept}");
        }
        let only_json = super::form(format!("{table},application/json").as_bytes(), |form| {
            form == ResponseFormat::Json
        });
        assert_eq!(only_json, Ok(ResponseFormat::Json));
        assert!(super::form(b"\xff", |_| true).is_err());
    }
}
