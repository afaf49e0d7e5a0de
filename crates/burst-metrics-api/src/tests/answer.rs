//! The answer to a callout.

use burst_model::cluster_reader::HttpResponse;

/// The status and the body of an answer.
pub(crate) struct Answer<'a>(pub(crate) u16, pub(crate) &'a str);

impl HttpResponse for Answer<'_> {
    fn status(&self) -> Option<u16> {
        Some(self.0)
    }

    fn header(&self, _: &str) -> Option<Vec<u8>> {
        None
    }

    fn body(&self, limit: usize) -> Vec<u8> {
        self.1.bytes().take(limit).collect()
    }
}
