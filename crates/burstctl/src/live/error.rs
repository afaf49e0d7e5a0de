//! Why a cluster cannot be used, as one line that says what to do.

use std::error::Error;

use kube::Config;
use kube::client::AuthError;
use kube::config::KubeconfigError;

/// Why a cluster cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The async runtime cannot be started.
    #[error("cannot wait for an answer: {0}")]
    Runtime(#[from] std::io::Error),
    /// No kubeconfig, or no such context.
    #[error("kubeconfig: {0}")]
    Kubeconfig(#[from] KubeconfigError),
    /// The program that writes the credentials cannot be started.
    #[error("the kubeconfig gets its credentials from {command:?}, which cannot be started: {reason}; {advice}")]
    CredentialPlugin {
        /// The program.
        command: String,
        /// The error of the operating system.
        reason: std::io::Error,
        /// The install hint of the kubeconfig, or a general advice.
        advice: String,
    },
    /// The API server does not answer.
    #[error("cannot reach {server}: {reason}; check the server of the context, and that this machine can reach it")]
    Unreachable {
        /// Its URL.
        server: String,
        /// The innermost cause.
        reason: String,
    },
    /// The namespace does not exist.
    #[error("namespace {namespace:?} does not exist in the cluster at {server}; `kubectl get namespaces` lists them")]
    NoNamespace {
        /// The namespace.
        namespace: String,
        /// The URL of the API server.
        server: String,
    },
    /// The user may not list a resource.
    #[error("cannot list {plural}: {message}; your user needs the verb list on them")]
    ListForbidden {
        /// The resource.
        plural: String,
        /// The message of the API server.
        message: String,
    },
    /// The cluster refuses, or its answer cannot be used.
    #[error("{}", error_chain(.0))]
    Cluster(#[from] kube::Error),
}

/// Returns the program that writes the credentials, and the install hint of the kubeconfig.
pub(super) fn credential_plugin(config: &Config) -> Option<(String, Option<String>)> {
    let exec = config.auth_info.exec.as_ref()?;
    Some((exec.command.clone()?, exec.install_hint.clone()))
}

impl LiveError {
    /// Why a client cannot be made.
    pub(super) fn of_client(error: kube::Error, plugin: Option<(String, Option<String>)>) -> Self {
        match (error, plugin) {
            (kube::Error::Auth(AuthError::AuthExecStart(reason)), Some((command, hint))) => Self::CredentialPlugin {
                command,
                reason,
                advice: hint.unwrap_or_else(|| "install it, or log in as another user of the kubeconfig".to_owned()),
            },
            (error, _) => error.into(),
        }
    }

    /// Why a list of a resource failed, if `self` is why its request failed.
    pub(crate) fn of_list(self, plural: &str) -> Self {
        match self {
            Self::Cluster(kube::Error::Api(status)) if status.code == FORBIDDEN => Self::ListForbidden {
                plural: plural.to_owned(),
                message: status.message,
            },
            other => other,
        }
    }

    /// Why a request to the API server at `server` failed.
    pub(super) fn of_request(error: kube::Error, server: &str) -> Self {
        match error {
            kube::Error::Service(_) | kube::Error::HyperError(_) if !is_about_credentials(&error) => {
                Self::Unreachable {
                    server: server.to_owned(),
                    reason: innermost(&error),
                }
            }
            other => other.into(),
        }
    }
}

const FORBIDDEN: u16 = 403;

/// Returns whether the request failed before it was sent, because no token could be had.
fn is_about_credentials(error: &kube::Error) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        if error.is::<AuthError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Returns the innermost cause, which has the most information.
fn innermost(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(below) = cause.source() {
        cause = below;
    }
    cause.to_string()
}

/// Joins the error with its causes.
pub(crate) fn error_chain(error: &kube::Error) -> String {
    if let kube::Error::Api(status) = error
        && !status.message.is_empty()
    {
        return status.message.clone();
    }
    let mut message = error.to_string();
    let mut below = error.source();
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
