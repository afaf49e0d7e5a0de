//! `burstctl hpa simulate`: the controller, played over a load that changes.

mod play;
mod plot;
mod svg;
mod table;
mod trace;

pub use play::{PlayError, Setting, Tick, play};
pub use plot::plot;
pub use svg::svg;
pub use table::{json, table};
pub use trace::{Trace, TraceError};
