//! `burstctl proxy`

use tokio::signal::unix::{SignalKind, signal};

use super::preview::of_file;
use super::{End, Terminal};
use crate::args::ProxyWords;
use crate::proxy::{self, Proxy};

/// Speaks for a kubeconfig until it is asked to end.
pub(super) fn proxy(words: &ProxyWords, terminal: &mut Terminal<'_>) -> End {
    match started(words, terminal) {
        Ok(end) => end,
        Err(reason) => {
            terminal.say(reason);
            End::Unread
        }
    }
}

fn started(words: &ProxyWords, terminal: &mut Terminal<'_>) -> Result<End, Box<dyn std::error::Error>> {
    let sources = match &words.config {
        Some(file) => of_file(file, terminal)?.content.sources,
        None => proxy::sources(None)?,
    };
    let lists: Vec<_> = sources.iter().map(ToString::to_string).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let proxy = Proxy::start(&words.context, words.listen, sources).await?;
        terminal.say(format_args!("lists of {}: {}", proxy.server(), lists.join(", ")));
        let written = terminal.data().line(format_args!("http://{}", proxy.addr()));
        let end = terminal.ended(written, End::Well);
        if end == End::Well {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        }
        Ok(end)
    })
}
