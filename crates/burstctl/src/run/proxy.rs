//! `burstctl proxy`

use std::io::{self, Write as _};
use std::path::Path;

use burst_model::kube::Source;
use tokio::signal::unix::{SignalKind, signal};

use super::{End, Terminal};
use crate::args::ProxyWords;
use crate::proxy::{self, Proxy};
use crate::yaml;

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
    let sources = sources(words.config.as_deref())?;
    let lists: Vec<_> = sources.iter().map(ToString::to_string).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let proxy = Proxy::start(&words.context, words.listen, sources).await?;
        terminal.say(format_args!("lists of {}: {}", proxy.server(), lists.join(", ")));
        let written = writeln!(terminal.out, "http://{}", proxy.addr());
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

/// What the filter of this configuration lists.
fn sources(config: Option<&Path>) -> Result<Vec<Source>, Box<dyn std::error::Error>> {
    let Some(path) = config else {
        return Ok(proxy::sources(None)?);
    };
    let named = |reason: &dyn std::fmt::Display| io::Error::other(format!("{}: {reason}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|reason| named(&reason))?;
    let mut documents = yaml::documents(&text).into_iter().map(|document| document.content);
    let (Some(config), None) = (documents.next(), documents.next()) else {
        return Err(named(&"expected one document").into());
    };
    let config = config.map_err(|reason| named(&reason))?.to_json().to_string();
    Ok(proxy::sources(Some(config.as_bytes())).map_err(|reason| named(&reason))?)
}
