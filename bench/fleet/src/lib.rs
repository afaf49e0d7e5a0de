//! Thousands of proxies and one API server, in virtual time: how much they ask of it, how old their pictures get, and
//! how they come back after an outage. The proxies are the filter's own model ([`burst_model::leader`],
//! [`burst_model::spoke`]); the API server is a queue before so many cores ([`server`]), whose work costs what it was
//! measured to ([`costs`]).
//!
//! Only numbers count here: the lists are empty, and their sizes are in the costs. The same seed gives the same run.

#![forbid(unsafe_code)]

pub mod costs;
pub mod proxy;
pub mod run;
pub mod scenario;
pub mod server;
pub mod summary;
pub mod tally;
