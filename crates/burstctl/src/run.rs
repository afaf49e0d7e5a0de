//! The commands from their words to their end.

#[cfg(feature = "live")]
mod doctor;
mod explain;
mod istio;
mod lint;
#[cfg(feature = "live")]
mod live;
mod migrate;
mod policy;
#[cfg(feature = "live")]
mod preview;
#[cfg(feature = "live")]
mod proxy;
mod render;
mod simulate;

use std::process::ExitCode;

use crate::args::{Hpa, Istio, Topic};
pub use crate::terminal::Terminal;

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// All is well.
    Well,
    /// There is something to object to.
    Objections,
    /// Something could not be read, so there may be more.
    Unread,
}

impl End {
    /// 0, 1 or 2.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Well => 0,
            Self::Objections => 1,
            Self::Unread => 2,
        }
    }
}

impl From<End> for ExitCode {
    fn from(end: End) -> Self {
        end.code().into()
    }
}

/// Runs a command.
pub fn run(topic: &Topic, terminal: &mut Terminal<'_>) -> End {
    match topic {
        Topic::Hpa { command } => hpa(command, terminal),
        #[cfg(feature = "live")]
        Topic::Preview(words) => preview::preview(words, terminal),
        #[cfg(feature = "live")]
        Topic::Doctor(words) => doctor::doctor(words, terminal),
        Topic::Istio {
            command: Istio::Render(words),
        } => istio::render(words, terminal),
        Topic::Policy { command } => policy::policy(command, terminal),
        #[cfg(feature = "live")]
        Topic::Proxy(words) => proxy::proxy(words, terminal),
    }
}

fn hpa(command: &Hpa, terminal: &mut Terminal<'_>) -> End {
    match command {
        Hpa::Lint(words) => lint::lint(words, terminal),
        Hpa::Render(words) => render::render(words, terminal),
        Hpa::Migrate(words) => migrate::migrate(words, terminal),
        Hpa::Explain(words) => explain::explain(words, terminal),
        Hpa::Simulate(words) => simulate::simulate(words, terminal),
    }
}
