//! How the cluster is read: which of the proxy's threads asks ([`election`]), the life of each list ([`reflector`]), all the
//! lists together ([`scheduler`]), how much is kept of them ([`limits`]) and how long to leave a failing API alone
//! ([`backoff`]).

pub mod backoff;
pub mod election;
pub mod excluded;
pub(crate) mod interval;
pub mod limits;
mod page_size;
pub mod reflector;
pub mod scheduler;
