//! Headers and local replies: each is a pure function of the request and the [`cache`].

mod bulk_body;
pub mod burst;
pub mod cache;
pub mod degraded;
mod format;
pub mod header;
mod local_reply;
pub mod orca;
pub mod overflow;
pub mod page;
pub mod retry_after;

pub use bulk_body::BulkBody;
pub use cache::{Absence, CachedUpstream, FreshNumbers, ServingCache};
pub(crate) use format::json_etag;
pub use local_reply::{LocalReply, has_tag};
