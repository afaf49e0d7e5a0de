//! Thousands of proxies and one API server, in virtual time: the load of the server, the age of the snapshots, and the
//! recovery after an outage. Each proxy runs the filter's own model ([`burst_model::leader`],
//! [`burst_model::hub_client`]). The API
//! server is a queue with several cores ([`server`]). The cost of each request was measured on a real API server
//! ([`costs`]).
//!
//! The lists are empty; their sizes are part of the costs. The same seed gives the same run.

#![forbid(unsafe_code)]

pub mod costs;
pub mod proxy;
pub mod run;
pub mod scenario;
pub mod server;
pub mod summary;
pub mod tally;
