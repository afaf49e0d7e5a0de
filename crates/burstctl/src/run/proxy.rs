//! `burstctl proxy`

use tokio::signal::unix::{SignalKind, signal};

use super::preview::config_from_file;
use super::{Outcome, Terminal};
use crate::args::{ClusterArgs, ProxyArgs};
use crate::proxy::{self, Proxy};

/// Serves the lists of a cluster until it is terminated.
pub(super) fn proxy(args: &ProxyArgs, cluster: &ClusterArgs, terminal: &mut Terminal<'_>) -> Outcome {
    match started(args, cluster, terminal) {
        Ok(end) => end,
        Err(reason) => {
            terminal.message(reason);
            Outcome::Incomplete
        }
    }
}

fn started(
    args: &ProxyArgs,
    cluster: &ClusterArgs,
    terminal: &mut Terminal<'_>,
) -> Result<Outcome, Box<dyn std::error::Error>> {
    let sources = match &args.config {
        Some(file) => config_from_file(file, terminal)?.sources().cloned().collect(),
        None => proxy::sources(None)?,
    };
    let lists: Vec<_> = sources.iter().map(ToString::to_string).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let proxy = Proxy::start_with(cluster, args.listen, sources).await?;
        terminal.message(format_args!("lists of {}: {}", proxy.server(), lists.join(", ")));
        let written = terminal.data().line(format_args!("http://{}", proxy.addr()));
        let end = terminal.finish(written, Outcome::Success);
        if end == Outcome::Success {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        }
        Ok(end)
    })
}
