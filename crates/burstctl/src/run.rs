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
mod shell;
mod simulate;

use crate::args::{Burstctl, Command, HpaCommand, IstioCommand};
pub use crate::outcome::Outcome;
pub use crate::terminal::Terminal;

/// Runs a command.
pub fn run(burstctl: &Burstctl, terminal: &mut Terminal<'_>) -> Outcome {
    #[cfg(feature = "live")]
    let cluster = &burstctl.cluster;
    #[cfg(feature = "live")]
    if let Some(option) = burstctl.ignored_option() {
        terminal.message(format_args!("this command does not use {option}; see its --help"));
        return Outcome::Incomplete;
    }
    match &burstctl.command {
        #[cfg(feature = "live")]
        Command::Preview(args) => preview::preview(args, cluster, terminal),
        #[cfg(feature = "live")]
        Command::Doctor(args) => doctor::doctor(args, cluster, terminal),
        Command::Hpa { command } => hpa(command, burstctl, terminal),
        Command::Policy { command } => policy::policy(command, burstctl, terminal),
        Command::Istio {
            command: IstioCommand::Render(args),
        } => istio::render(args, terminal),
        #[cfg(feature = "live")]
        Command::Proxy(args) => proxy::proxy(args, cluster, terminal),
        Command::Completion(args) => shell::completion(args, terminal),
        Command::Version(args) => shell::version(args, terminal),
        Command::Man(args) => shell::man(args, terminal),
    }
}

fn hpa(command: &HpaCommand, burstctl: &Burstctl, terminal: &mut Terminal<'_>) -> Outcome {
    match command {
        HpaCommand::Lint(args) => lint::lint(args, burstctl, terminal),
        HpaCommand::Render(args) => render::render(args, terminal),
        HpaCommand::Migrate(args) => migrate::migrate(args, terminal),
        HpaCommand::Explain(args) => explain::explain(args, burstctl, terminal),
        HpaCommand::Simulate(args) => simulate::simulate(args, terminal),
    }
}
