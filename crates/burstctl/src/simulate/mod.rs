//! `burstctl hpa simulate`: the controller, played over a load that changes.

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
