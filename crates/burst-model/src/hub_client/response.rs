//! Parses the response of a hub. It comes from another proxy, so every part of it is checked.

use super::services::{self, HubServices};
use crate::confirmation::Confirmation;
use crate::kube::{self, Failure, ParseGuard};
use std::fmt;

/// The largest response that is parsed. It has room for more than 100,000 Services, or 60,000 with
/// signals. Envoy would hand over 32 MiB, and the
/// memory of a VM never shrinks.
pub const MAX_RESPONSE_BYTES: usize = 16 << 20;

/// The longest entity tag that is kept. Each request sends it back to the hub.
const MAX_TAG_BYTES: usize = 128;

/// The response to a callout, as the host provides it.
#[derive(Clone, Copy, Debug, Default)]
pub struct HubResponse<'a> {
    /// `:status`. `None` if the callout ended without headers.
    pub status: Option<u16>,
    /// [`confirmation::CONFIRMED_HEADER`](crate::confirmation::CONFIRMED_HEADER).
    pub confirmed: Option<&'a [u8]>,
    /// `etag`.
    pub etag: Option<&'a [u8]>,
    /// `retry-after`.
    pub retry_after: Option<&'a [u8]>,
    /// The body. The caller may cut it off one byte after [`MAX_RESPONSE_BYTES`].
    pub body: &'a [u8],
}

/// The content of a successful response.
#[derive(Debug)]
pub enum HubPayload {
    /// All Services.
    Services {
        /// The Services.
        services: HubServices,
        /// Their entity tag.
        tag: Option<EntityTag>,
        /// When the hub read them.
        confirmation: Confirmation,
    },
    /// The Services still have the entity tag that the request carried.
    Unchanged(Confirmation),
}

impl HubPayload {
    /// When the hub read the Services.
    #[must_use]
    pub fn confirmation(&self) -> Confirmation {
        let (Self::Unchanged(confirmation) | Self::Services { confirmation, .. }) = self;
        *confirmation
    }
}

/// An entity tag. <https://www.rfc-editor.org/rfc/rfc9110#name-etag>
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityTag(String);

impl EntityTag {
    /// Parses a weak or strong tag. `None` if the header is not a tag, or is too long.
    #[must_use]
    pub fn parse(header: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(header).ok()?;
        let quoted = text.strip_prefix("W/").unwrap_or(text);
        let opaque = quoted.strip_prefix('"')?.strip_suffix('"')?;
        let fits = text.len() <= MAX_TAG_BYTES && opaque.bytes().all(|b| b.is_ascii_graphic() && b != b'"');
        fits.then(|| Self(text.into()))
    }
}

impl fmt::Display for EntityTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Parses the response to a [`HubRequest`](crate::hub_request::HubRequest).
///
/// # Errors
/// It is not the response of a hub that has a snapshot of the cluster.
pub fn parse(response: HubResponse<'_>, progress: &mut dyn ParseGuard) -> Result<HubPayload, Failure> {
    let status = response.status.ok_or(Failure::Disconnected)?;
    let confirmed = response.confirmed.unwrap_or_default();
    let confirmation = || Confirmation::parse(confirmed).map_err(Failure::malformed);
    match status {
        200 if response.body.len() > MAX_RESPONSE_BYTES => Err(Failure::Disconnected),
        200 => Ok(HubPayload::Services {
            confirmation: confirmation()?,
            services: services::parse(response.body, progress)?,
            tag: response.etag.and_then(EntityTag::parse),
        }),
        // A hub without any Service sends no content.
        204 => Ok(HubPayload::Services {
            confirmation: confirmation()?,
            services: HubServices::default(),
            tag: None,
        }),
        304 => Ok(HubPayload::Unchanged(confirmation()?)),
        other => Err(failure(other, response)),
    }
}

fn failure(status: u16, response: HubResponse<'_>) -> Failure {
    let HubResponse { retry_after, body, .. } = response;
    let answer = kube::ApiResponse {
        status: Some(status),
        content_type: None,
        retry_after,
        body,
    };
    // Every response of a hub has the header, even if the hub never read the cluster. A 503 without it is Envoy's own.
    kube::response::failure_from_status(status, answer, response.confirmed.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    const CONFIRMED: Option<&[u8]> = Some(b"at=5, age=7");

    fn answer(status: u16, body: &str) -> HubResponse<'_> {
        HubResponse {
            status: Some(status),
            confirmed: CONFIRMED,
            etag: Some(br#""t""#),
            retry_after: Some(b"7"),
            body: body.as_bytes(),
        }
    }

    #[test]
    fn a_response_has_all_services_or_none_or_is_unchanged() {
        let body = r#"{"shop/web": "service=shop/web, current-load=1, target-load=4, max-load=5"}"#;
        let Ok(HubPayload::Services { services, tag, .. }) = parse(answer(200, body), &mut ()) else {
            panic!("all")
        };
        assert_eq!((services.rows.len(), tag), (1, EntityTag::parse(br#""t""#)));
        let Ok(HubPayload::Services { services, tag, .. }) = parse(answer(204, ""), &mut ()) else {
            panic!("nothing")
        };
        assert_eq!((services.rows.len(), tag), (0, None));
        assert!(matches!(parse(answer(304, ""), &mut ()), Ok(HubPayload::Unchanged(_))));
    }

    #[test]
    fn a_response_without_the_time_of_the_read_is_not_a_hubs() {
        for status in [200, 204, 304] {
            for confirmed in [None, Some(&b"never"[..]), Some(b"\xff")] {
                let response = HubResponse {
                    confirmed,
                    ..answer(status, "{}")
                };
                assert!(
                    matches!(parse(response, &mut ()), Err(Failure::Malformed(_))),
                    "{status} {confirmed:?}"
                );
            }
        }
    }

    #[test]
    fn a_failure_of_envoy_is_told_apart_from_one_of_the_hub() {
        let failure = |status, confirmed, body| {
            let response = HubResponse {
                confirmed,
                ..answer(status, body)
            };
            parse(response, &mut ()).unwrap_err()
        };
        let stale = "too stale: the Kubernetes API was last read 75 s ago, and 60 s are allowed\n";
        let by_the_hub = Failure::Server {
            status: 503,
            message: stale.trim().into(),
            retry_after: Some(Duration::from_secs(7)),
        };
        assert_eq!(failure(503, CONFIRMED, stale), by_the_hub);
        assert!(matches!(failure(503, Some(b"never"), ""), Failure::Server { .. }));
        let refused = "upstream connect error";
        assert_eq!(failure(503, None, refused), Failure::Unreachable(refused.into()));
        assert_eq!(failure(504, None, "upstream request timeout"), Failure::Timeout);
        assert_eq!(failure(404, None, "no\nroute"), Failure::NotFound("no␊route".into()));
        assert_eq!(failure(302, None, ""), Failure::Unexpected(302));
        assert_eq!(
            parse(HubResponse::default(), &mut ()).unwrap_err(),
            Failure::Disconnected
        );
    }

    #[test]
    fn a_response_that_is_too_large_is_not_parsed() {
        let body = " ".repeat(MAX_RESPONSE_BYTES) + "{}";
        assert_eq!(parse(answer(200, &body), &mut ()).unwrap_err(), Failure::Disconnected);
        assert!(parse(answer(200, &body[2..]), &mut ()).is_ok());
    }

    #[test]
    fn only_a_valid_entity_tag_is_parsed() {
        for good in [r#""dfe606111821d160""#, r#"W/"1""#, r#""""#] {
            assert_eq!(
                EntityTag::parse(good.as_bytes()).map(|tag| tag.to_string()).as_deref(),
                Some(good)
            );
        }
        let long = format!("\"{}\"", "x".repeat(MAX_TAG_BYTES));
        for bad in [
            "",
            "\"",
            "a",
            "\"a",
            "\"a\"b\"",
            "\"a b\"",
            "\"a\r\nx: y\"",
            "w/\"a\"",
            "*",
            &long,
        ] {
            assert_eq!(EntityTag::parse(bad.as_bytes()), None, "{bad:?}");
        }
        assert_eq!(EntityTag::parse(b"\"\xff\""), None);
    }

    proptest! {
        #[test]
        fn arbitrary_responses_do_not_panic(
            status in proptest::option::of(prop_oneof![Just(200), Just(204), Just(304), any::<u16>()]),
            headers in proptest::collection::vec(proptest::option::of(proptest::collection::vec(any::<u8>(), 0..20)), 3),
            confirmed: bool,
            body in proptest::collection::vec(any::<u8>(), 0..256),
        ) {
            let confirmed = if confirmed { CONFIRMED } else { headers[0].as_deref() };
            let (etag, retry_after) = (headers[1].as_deref(), headers[2].as_deref());
            let _ = parse(HubResponse { status, confirmed, etag, retry_after, body: &body }, &mut ());
        }
    }
}
