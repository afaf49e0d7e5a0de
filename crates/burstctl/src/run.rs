//! Runs the commands.

#[cfg(feature = "live")]
mod doctor;
mod explain;
#[cfg(feature = "live")]
mod explain_cluster;
mod istio;
mod lint;
mod migrate;
mod policy;
#[cfg(feature = "live")]
mod preview;
#[cfg(feature = "live")]
mod proxy;
mod render;
mod simulate;

use crate::args::{Command, HpaCommand, IstioCommand};
pub use crate::outcome::Outcome;
pub use crate::terminal::Terminal;

/// Runs a command.
pub fn run(command: &Command, terminal: &mut Terminal<'_>) -> Outcome {
    match command {
        Command::Hpa { command } => hpa(command, terminal),
        #[cfg(feature = "live")]
        Command::Preview(args) => preview::preview(args, terminal),
        #[cfg(feature = "live")]
        Command::Doctor(args) => doctor::doctor(args, terminal),
        Command::Istio {
            command: IstioCommand::Render(args),
        } => istio::render(args, terminal),
        Command::Policy { command } => policy::policy(command, terminal),
        #[cfg(feature = "live")]
        Command::Proxy(args) => proxy::proxy(args, terminal),
    }
}

fn hpa(command: &HpaCommand, terminal: &mut Terminal<'_>) -> Outcome {
    match command {
        HpaCommand::Lint(args) => lint::lint(args, terminal),
        HpaCommand::Render(args) => render::render(args, terminal),
        HpaCommand::Migrate(args) => migrate::migrate(args, terminal),
        HpaCommand::Explain(args) => explain::explain(args, terminal),
        HpaCommand::Simulate(args) => simulate::simulate(args, terminal),
    }
}
