//! How the cluster is read: which of the proxy's threads asks ([`lease`]), the life of each list ([`life`]), all the
//! lists together ([`poller`]) and how long to leave a failing API alone ([`backoff`]).

pub mod backoff;
pub(crate) mod interval;
pub mod lease;
pub mod life;
mod page_size;
pub mod poller;
