//! How the cluster is read: which VM of the proxy sends the requests ([`election`]), the state machine of one list
//! ([`reflector`]), the order of the requests of all lists ([`scheduler`]), the memory that objects may take ([`limits`]),
//! and the delay after a failure ([`backoff`]).

pub mod backoff;
pub mod election;
pub mod excluded;
pub(crate) mod interval;
pub mod limits;
mod page_size;
pub mod reflector;
pub mod scheduler;
