//! How the cluster is read: which of the proxy's threads asks ([`lease`]), the life of each list ([`life`]), all the
//! lists together ([`poller`]), how much is kept of them ([`limits`]) and how long to leave a failing API alone
//! ([`backoff`]).

pub mod backoff;
pub(crate) mod interval;
pub mod lease;
pub mod left_out;
pub mod life;
pub mod limits;
mod page_size;
pub mod poller;
