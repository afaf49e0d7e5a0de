//! `burstctl preview`

use std::path::Path;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use burst_model::config::Config;
use burst_model::kube::Failure;
use burst_model::name::Name;
use burst_model::time::Time;
use serde_json::{Value, json};

use super::{End, Terminal};
use crate::args::{Output, Preview};
use crate::input::Input;
use crate::live::Cluster;
use crate::plugin;
use crate::preview::{self, Answer};

/// Says which header each Service would carry.
pub(super) fn preview(words: &Preview, terminal: &mut Terminal<'_>) -> End {
    let config = match config(words, terminal) {
        Ok(config) => Rc::new(config),
        Err(reason) => {
            terminal.say(reason);
            return End::Unread;
        }
    };
    let cluster = match Cluster::of(&words.context) {
        Ok(cluster) => cluster,
        Err(error) => {
            terminal.say(error);
            return End::Unread;
        }
    };
    let now = now();
    let read = match preview::read(config.clone(), now, |path| get(&cluster, path)) {
        Ok(read) => read,
        Err(refused) => {
            refused.iter().for_each(|refused| terminal.say(refused));
            return End::Unread;
        }
    };
    let preview = match preview::preview(&config, read, now) {
        Ok(preview) => preview,
        Err(damaged) => {
            terminal.say(damaged);
            return End::Unread;
        }
    };
    let written = preview::write(&preview, words.output, terminal.data());
    if words.output == Output::Text {
        terminal.say(preview.summary());
    }
    let end = if preview.troubles() == 0 {
        End::Well
    } else {
        End::Objections
    };
    terminal.ended(written, end)
}

/// The wall clock, as the filter gets it from its host.
pub(super) fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_unix_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn get(cluster: &Cluster, path: &str) -> Result<Answer, Failure> {
    let answer = cluster
        .get(path)
        .map_err(|error| Failure::Unreachable(error.to_string()))?;
    Ok(Answer {
        status: answer.status().as_u16(),
        content_type: answer
            .headers()
            .get("content-type")
            .map(|value| value.as_bytes().to_vec()),
        body: answer.into_body(),
    })
}

/// The configuration of the file, or the filter's defaults, for the namespace that was asked for.
fn config(words: &Preview, terminal: &mut Terminal<'_>) -> Result<Config, String> {
    let mut config = match &words.config {
        Some(file) => of_file(file, terminal)?,
        None => {
            // The name of the cluster is Envoy's affair.
            let defaults = plugin::checked(&json!({"cluster": "kubernetes"}));
            defaults.map_err(|error| error.to_string())?
        }
    };
    if let Some(namespace) = &words.namespace {
        let namespace = Name::parse(namespace).map_err(|error| format!("--namespace: {error}"))?;
        preview::narrow(&mut config.content, namespace).map_err(|error| error.to_string())?;
    }
    Ok(config)
}

/// The configuration in a file, `-` for stdin: its own, or that in an Istio object.
pub(super) fn of_file(file: &Path, terminal: &mut Terminal<'_>) -> Result<Config, String> {
    let named = |reason: &dyn std::fmt::Display| format!("{}: {reason}", file.display());
    let input = Input::read(&[file.to_owned()], terminal.stdin());
    if let Some(unreadable) = input.unreadable.first() {
        return Err(unreadable.to_string());
    }
    if let Some(broken) = input.broken.first() {
        return Err(format!("{}:{}", file.display(), broken.error));
    }
    let documents = input.objects.iter().map(|object| object.tree.to_json());
    let written = documents
        .filter(Value::is_object)
        .find_map(|document| plugin::configuration_of_document(&document))
        .ok_or_else(|| named(&"neither the filter's configuration nor an Istio object that has it in it"))?;
    let config = plugin::checked(&written).map_err(|error| named(&error))?;
    plugin::reads_a_cluster(&config).map_err(|error| named(&error))?;
    Ok(config)
}
