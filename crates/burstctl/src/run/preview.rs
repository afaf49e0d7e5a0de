//! `burstctl preview`

use std::path::Path;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use burst_model::config::Config;
use burst_model::kube::Failure;
use burst_model::name::Name;
use burst_model::time::Time;
use serde_json::{Value, json};

use super::{Outcome, Terminal};
use crate::args::{ClusterArgs, OutputFormat, PreviewArgs};
use crate::input::Input;
use crate::live::{Cluster, LiveError};
use crate::plugin_config;
use crate::preview::{self, ApiAnswer, Preview};

/// Writes the header of each Service.
pub(super) fn preview(args: &PreviewArgs, cluster: &ClusterArgs, terminal: &mut Terminal<'_>) -> Outcome {
    let preview = match read_preview(args, cluster, terminal) {
        Ok(preview) => preview,
        Err(reasons) => {
            reasons.iter().for_each(|reason| terminal.message(reason));
            return Outcome::Incomplete;
        }
    };
    let written = preview::write(&preview, args.output, terminal.data());
    if args.output == OutputFormat::Text {
        terminal.message(preview.summary());
    }
    let end = if preview.problems() == 0 {
        Outcome::Success
    } else {
        Outcome::ProblemsFound
    };
    terminal.finish(written, end)
}

/// Reads the cluster and computes the preview. The error has a line for each failure.
fn read_preview(
    args: &PreviewArgs,
    cluster: &ClusterArgs,
    terminal: &mut Terminal<'_>,
) -> Result<Preview, Vec<String>> {
    let namespace = cluster.namespace.as_deref();
    let config = Rc::new(config(args, namespace, terminal).map_err(|reason| vec![reason])?);
    let cluster = connect(cluster).map_err(|error| vec![error.to_string()])?;
    let now = now();
    let read = preview::read(config.clone(), now, |path| get(&cluster, path))
        .map_err(|failed| failed.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    preview::preview(&config, read, now).map_err(|error| vec![error.to_string()])
}

/// Returns the cluster, once it has answered and the namespace is known to exist.
fn connect(args: &ClusterArgs) -> Result<Cluster, LiveError> {
    let cluster = Cluster::connect(args)?;
    match &args.namespace {
        Some(namespace) => cluster.require_namespace(namespace)?,
        // Each list would report that the API server cannot be reached.
        None => drop(cluster.get("/version")?),
    }
    Ok(cluster)
}

/// The wall clock, as the filter gets it from its host.
pub(super) fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_unix_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn get(cluster: &Cluster, path: &str) -> Result<ApiAnswer, Failure> {
    let answer = cluster
        .get(path)
        .map_err(|error| Failure::Unreachable(error.to_string()))?;
    Ok(ApiAnswer {
        status: answer.status().as_u16(),
        content_type: answer
            .headers()
            .get("content-type")
            .map(|value| value.as_bytes().to_vec()),
        body: answer.into_body(),
    })
}

/// Returns the configuration of the file or the defaults, restricted to the requested namespace.
fn config(args: &PreviewArgs, namespace: Option<&str>, terminal: &mut Terminal<'_>) -> Result<Config, String> {
    let mut config = match &args.config {
        Some(file) => config_from_file(file, terminal)?,
        None => {
            // The name of the Envoy cluster does not matter here.
            let defaults = plugin_config::parse(&json!({"cluster": "kubernetes"}));
            defaults.map_err(|error| error.to_string())?
        }
    };
    preview::exclude_pods(&mut config.content);
    if let Some(namespace) = namespace {
        let namespace = Name::parse(namespace).map_err(|error| format!("--namespace: {error}"))?;
        preview::restrict_to_namespace(&mut config.content, namespace).map_err(|error| error.to_string())?;
    }
    Ok(config)
}

/// Reads the configuration in a file, or in an Istio object in a file; `-` is stdin.
pub(super) fn config_from_file(file: &Path, terminal: &mut Terminal<'_>) -> Result<Config, String> {
    let named = |reason: &dyn std::fmt::Display| format!("{}: {reason}", file.display());
    let input = Input::read(&[file.to_owned()], terminal.stdin());
    if let Some(unreadable) = input.unreadable.first() {
        return Err(unreadable.to_string());
    }
    if let Some(broken) = input.invalid_documents.first() {
        return Err(format!("{}:{}", file.display(), broken.error));
    }
    let documents = input.objects.iter().map(|object| object.tree.to_json());
    let written = documents
        .filter(Value::is_object)
        .find_map(|document| plugin_config::in_document(&document))
        .ok_or_else(|| named(&"neither the filter's configuration nor an Istio object that contains it"))?;
    let config = plugin_config::parse(&written).map_err(|error| named(&error))?;
    plugin_config::require_cluster_source(&config).map_err(|error| named(&error))?;
    Ok(config)
}
