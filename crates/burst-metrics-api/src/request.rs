//! A request of the metrics APIs, parsed once from its headers.

use crate::accept::AcceptedFormats;
use crate::list_options::ListOptions;
use crate::path::MetricsPath;
use crate::status::StatusError;
use crate::user_info::RequestUser;
use burst_model::config::Authorization;
use burst_model::serve::LocalReply;

/// A request of the metrics APIs.
///
/// Authorization, the choice between this filter and another adapter, and the answer are all derived from this value.
#[derive(Clone, Debug)]
pub struct MetricsRequest {
    pub(crate) method: String,
    pub(crate) path: MetricsPath,
    pub(crate) options: ListOptions,
    pub(crate) accept: AcceptedFormats,
    /// `if-none-match`; empty if absent.
    pub(crate) if_none_match: Vec<u8>,
    pub(crate) user: RequestUser,
    /// `:path` as the client sent it.
    path_and_query: Vec<u8>,
}

impl MetricsRequest {
    /// Parses the headers of a request, pseudo-headers included. Header names are in lower case. Of several headers with
    /// the same name the first one counts, except for groups and extras.
    ///
    /// # Errors
    /// The answer if no user is named (`401`), or if the path is too long (`414`) or not UTF-8 (`400`). With
    /// SubjectAccessReviews, a user that a review cannot name exactly is `401` as well.
    pub fn parse<'a>(
        headers: impl IntoIterator<Item = (&'a str, &'a [u8])>,
        authorization: Authorization,
    ) -> Result<Self, LocalReply> {
        let (mut method, mut path, mut accept, mut if_none_match) = (None, None, None, None);
        let mut user = RequestUser::default();
        for (name, value) in headers {
            let header = match name {
                ":method" => &mut method,
                ":path" => &mut path,
                "accept" => &mut accept,
                "if-none-match" => &mut if_none_match,
                _ => {
                    user.add_header(name, value);
                    continue;
                }
            };
            header.get_or_insert(value);
        }
        let accept = AcceptedFormats::parse(accept.unwrap_or_default());
        let is_authenticated = match authorization {
            Authorization::ApiServer => user.is_named(),
            Authorization::SubjectAccessReview => user.is_reviewable(),
        };
        if !is_authenticated {
            return Err(StatusError::unauthorized().to_reply(accept.error_encoding()));
        }
        let path_and_query = path.unwrap_or_default();
        let (path, query) =
            MetricsPath::parse(path_and_query).map_err(|error| error.to_reply(accept.error_encoding()))?;
        Ok(Self {
            method: String::from_utf8_lossy(method.unwrap_or_default()).into_owned(),
            path,
            options: ListOptions::parse(query),
            accept,
            if_none_match: if_none_match.unwrap_or_default().to_vec(),
            user,
            path_and_query: path_and_query.to_vec(),
        })
    }

    /// Bytes that are the same for requests that are answered alike: the path with its query, and the user.
    #[must_use]
    pub fn fingerprint(&self) -> Vec<u8> {
        [&self.path_and_query[..], self.user.name().as_bytes()].concat()
    }
}
