//! HPAs of a running cluster. Reads one object and nothing else: `get` on `horizontalpodautoscalers` is all it needs.

use std::time::Duration;

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use kube::config::{KubeConfigOptions, KubeconfigError};
use kube::{Api, Client, Config};

/// Longer than a healthy API server takes for one object.
const PATIENCE: Duration = Duration::from_secs(15);

/// Why an HPA of a cluster cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// No runtime to wait with.
    #[error("cannot wait for an answer: {0}")]
    Runtime(#[from] std::io::Error),
    /// No such context, or no kubeconfig.
    #[error("kubeconfig: {0}")]
    Kubeconfig(#[from] KubeconfigError),
    /// The cluster does not answer, or says no.
    #[error("{}", chain(.0))]
    Cluster(#[from] kube::Error),
}

/// The HPA as the cluster has it; an empty context is the current one.
///
/// # Errors
/// If the kubeconfig, the cluster or the HPA is not there.
pub fn fetch(context: &str, namespace: &str, name: &str) -> Result<HorizontalPodAutoscaler, LiveError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(async {
            let mut config = config(context).await?;
            config.read_timeout = Some(PATIENCE);
            let hpas: Api<HorizontalPodAutoscaler> = Api::namespaced(Client::try_from(config)?, namespace);
            Ok(hpas.get(name).await?)
        })
}

/// How the cluster of a context is reached; an empty context is the current one.
pub(crate) async fn config(context: &str) -> Result<Config, LiveError> {
    let options = KubeConfigOptions {
        context: (!context.is_empty()).then(|| context.to_owned()),
        ..KubeConfigOptions::default()
    };
    let mut config = Config::from_kubeconfig(&options).await?;
    config.connect_timeout = Some(PATIENCE);
    Ok(config)
}

/// What is at the bottom says more than what is on top.
pub(crate) fn chain(error: &kube::Error) -> String {
    let mut words = error.to_string();
    let mut below = std::error::Error::source(error);
    while let Some(cause) = below {
        let cause_words = cause.to_string();
        if !words.contains(&cause_words) {
            words.push_str(": ");
            words.push_str(&cause_words);
        }
        below = cause.source();
    }
    words
}
