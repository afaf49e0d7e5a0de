//! `burstctl hpa simulate`: simulates the HPA controller under a changing load.

mod engine;
mod plot;
mod svg;
mod table;
mod trace;

pub use engine::{Scenario, SimulateError, SyncStep, simulate};
pub use plot::plot;
pub use svg::svg;
pub use table::{json, table};
pub use trace::{Trace, TraceError};
