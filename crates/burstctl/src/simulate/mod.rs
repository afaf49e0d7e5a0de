//! `burstctl hpa simulate`: simulates the HPA controller under a changing load.

mod amount;
mod axes;
mod engine;
mod load_shape;
mod metric_load;
mod plot;
mod summary;
mod svg;
mod table;
mod timeline;
mod trace;

pub use amount::Amount;
pub use engine::{Scenario, Simulation, SyncStep, TooManyReplicas, simulate};
pub use load_shape::LoadShape;
pub use metric_load::{CapacityError, LevelError, MetricLoad};
pub use plot::plot;
pub use summary::{Assumptions, Summary, Verdict};
pub use svg::{Figure, svg};
pub use table::{json, table};
pub use trace::{Trace, TraceError};
