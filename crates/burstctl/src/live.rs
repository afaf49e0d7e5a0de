//! A client of the cluster of a kubeconfig context.

mod error;

pub use error::LiveError;
pub(crate) use error::error_chain;

use std::time::Duration;

use http_body_util::BodyExt as _;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use tokio::runtime::Runtime;

use crate::args::ClusterArgs;

/// Longer than a healthy API server takes.
const TIMEOUT: Duration = Duration::from_secs(15);

/// A client with its own runtime.
pub struct Cluster {
    runtime: Runtime,
    client: Client,
    server: String,
    default_namespace: String,
}

impl Cluster {
    /// The cluster that the arguments choose. Sends no request, but runs the credential plugin of the kubeconfig.
    ///
    /// # Errors
    /// No such kubeconfig or context, or unusable credentials.
    pub fn connect(args: &ClusterArgs) -> Result<Self, LiveError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut config = runtime.block_on(config(args))?;
        config.read_timeout = Some(TIMEOUT);
        let (server, default_namespace) = (
            config.cluster_url.to_string().trim_end_matches('/').to_owned(),
            config.default_namespace.clone(),
        );
        let plugin = error::credential_plugin(&config);
        let client = {
            let _inside = runtime.enter();
            Client::try_from(config).map_err(|error| LiveError::of_client(error, plugin))?
        };
        Ok(Self {
            runtime,
            client,
            server,
            default_namespace,
        })
    }

    /// Returns a client for [`Api`].
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Returns the namespace of the context.
    #[must_use]
    pub fn default_namespace(&self) -> &str {
        &self.default_namespace
    }

    /// Blocks on a future.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Blocks on a request.
    ///
    /// # Errors
    /// The cluster does not answer, or refuses.
    pub fn request<T>(&self, request: impl Future<Output = kube::Result<T>>) -> Result<T, LiveError> {
        self.block_on(request)
            .map_err(|error| LiveError::of_request(error, &self.server))
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
        self.request(async {
            let (head, body) = self.client.send(request).await?.into_parts();
            let body = body.collect().await?.to_bytes().to_vec();
            Ok(http::Response::from_parts(head, body))
        })
    }

    /// Checks that a namespace exists, because a list in a namespace that does not exist is empty. A user who may not
    /// read namespaces passes.
    ///
    /// # Errors
    /// The namespace does not exist, or the cluster does not answer.
    pub fn require_namespace(&self, namespace: &str) -> Result<(), LiveError> {
        let path = format!("/api/v1/namespaces/{namespace}");
        match self.get(&path)?.status() {
            http::StatusCode::NOT_FOUND => Err(LiveError::NoNamespace {
                namespace: namespace.to_owned(),
                server: self.server.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// Reads an HPA.
    ///
    /// # Errors
    /// The cluster or the HPA is not available.
    pub fn hpa(&self, namespace: &str, name: &str) -> Result<HorizontalPodAutoscaler, LiveError> {
        let hpas: Api<HorizontalPodAutoscaler> = Api::namespaced(self.client(), namespace);
        self.request(hpas.get(name))
    }
}

/// The client configuration of the context that the arguments choose.
pub(crate) async fn config(args: &ClusterArgs) -> Result<Config, LiveError> {
    let options = KubeConfigOptions {
        context: args.context.clone().filter(|context| !context.is_empty()),
        ..KubeConfigOptions::default()
    };
    let mut config = match &args.kubeconfig {
        Some(file) => Config::from_custom_kubeconfig(Kubeconfig::read_from(file)?, &options).await?,
        None => Config::from_kubeconfig(&options).await?,
    };
    config.connect_timeout = Some(TIMEOUT);
    // No retries: a Retry-After can be an hour, and the error should be reported at once.
    config.default_retry = false;
    Ok(config)
}
