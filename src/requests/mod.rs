//! Counting requests: what each VM counts, what its leader adds up, and what a hub accepts from other proxies.

mod aggregator;
mod counter;
mod hub;

pub(crate) use aggregator::RequestAggregator;
pub(crate) use counter::{RequestCounter, counter};
pub(crate) use hub::answer_report;
