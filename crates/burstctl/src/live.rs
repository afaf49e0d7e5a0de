//! A client of the cluster of a kubeconfig context.

use std::time::Duration;

use http_body_util::BodyExt as _;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use kube::client::Body;
use kube::config::{KubeConfigOptions, KubeconfigError};
use kube::{Api, Client, Config};
use tokio::runtime::Runtime;

/// Longer than a healthy API server takes.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Why a cluster cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The async runtime cannot be started.
    #[error("cannot wait for an answer: {0}")]
    Runtime(#[from] std::io::Error),
    /// No kubeconfig, or no such context.
    #[error("kubeconfig: {0}")]
    Kubeconfig(#[from] KubeconfigError),
    /// The cluster does not answer, or refuses.
    #[error("{}", error_chain(.0))]
    Cluster(#[from] kube::Error),
}

/// A client with its own runtime.
pub struct Cluster {
    runtime: Runtime,
    client: Client,
}

impl Cluster {
    /// The cluster of a kubeconfig context; an empty one is the current context. Sends no request.
    ///
    /// # Errors
    /// No such context, or unusable credentials.
    pub fn of_context(context: &str) -> Result<Self, LiveError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut config = runtime.block_on(config(context))?;
        config.read_timeout = Some(TIMEOUT);
        let client = {
            let _inside = runtime.enter();
            Client::try_from(config)?
        };
        Ok(Self { runtime, client })
    }

    /// Returns a client for [`Api`].
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Blocks on a future.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Sends a GET for a path and query; any status is a response.
    ///
    /// # Errors
    /// No response.
    pub fn get(&self, path: &str) -> Result<http::Response<Vec<u8>>, LiveError> {
        let request = http::Request::get(path)
            .header("accept", "application/json")
            .header("user-agent", concat!("burstctl/", env!("CARGO_PKG_VERSION")))
            .body(Body::empty())
            .map_err(kube::Error::HttpError)?;
        self.block_on(async {
            let (head, body) = self.client.send(request).await?.into_parts();
            let body = body.collect().await?.to_bytes().to_vec();
            Ok(http::Response::from_parts(head, body))
        })
    }
}

/// Reads an HPA; an empty context is the current one.
///
/// # Errors
/// The kubeconfig, the cluster or the HPA is not available.
pub fn fetch(context: &str, namespace: &str, name: &str) -> Result<HorizontalPodAutoscaler, LiveError> {
    let cluster = Cluster::of_context(context)?;
    let hpas: Api<HorizontalPodAutoscaler> = Api::namespaced(cluster.client(), namespace);
    Ok(cluster.block_on(hpas.get(name))?)
}

/// The client configuration of a context; an empty context is the current one.
pub(crate) async fn config(context: &str) -> Result<Config, LiveError> {
    let options = KubeConfigOptions {
        context: (!context.is_empty()).then(|| context.to_owned()),
        ..KubeConfigOptions::default()
    };
    let mut config = Config::from_kubeconfig(&options).await?;
    config.connect_timeout = Some(TIMEOUT);
    // No retries: a Retry-After can be an hour, and the error should be reported at once.
    config.default_retry = false;
    Ok(config)
}

/// Joins the error with its causes. The innermost cause has the most information.
pub(crate) fn error_chain(error: &kube::Error) -> String {
    if let kube::Error::Api(status) = error
        && !status.message.is_empty()
    {
        return status.message.clone();
    }
    let mut message = error.to_string();
    let mut below = std::error::Error::source(error);
    while let Some(cause) = below {
        let cause_words = cause.to_string();
        if !message.contains(&cause_words) {
            message.push_str(": ");
            message.push_str(&cause_words);
        }
        below = cause.source();
    }
    message
}
