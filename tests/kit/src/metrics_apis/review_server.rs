//! A stand-in for the API server that answers SubjectAccessReviews as a test wants, and keeps them.
//! <https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/subject-access-review-v1/>

use std::{
    fs, mem,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use burst_lab::{
    api::Reply,
    server::{Handler, Server},
};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::filter::serve;

/// The server; it is gone when this is dropped.
pub struct ReviewServer {
    state: Arc<Mutex<State>>,
    server: Server,
    folder: TempDir,
}

struct State {
    code: StatusCode,
    status: Value,
    specs: Vec<Value>,
}

impl ReviewServer {
    /// Listens on a free port, and allows everything.
    ///
    /// # Panics
    /// When there is no port.
    #[must_use]
    pub fn start() -> Self {
        let state = State {
            code: StatusCode::CREATED,
            status: json!({"allowed": true}),
            specs: Vec::new(),
        };
        let state = Arc::new(Mutex::new(state));
        Self {
            server: serve(Reviews(state.clone())),
            state,
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    /// A kubeconfig for this server.
    ///
    /// # Panics
    /// When it cannot be written.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "reviews",
            "clusters": [{"name": "reviews", "cluster": {"server": format!("http://{}", self.server.addr())}}],
            "users": [{"name": "adapter", "user": {}}],
            "contexts": [{"name": "reviews", "context": {"cluster": "reviews", "user": "adapter"}}],
        });
        let path = self.folder.path().join("reviews.kubeconfig");
        fs::write(&path, config.to_string()).expect("a file");
        path
    }

    /// Answers with that code and `status` from now on.
    pub fn answer_with(&self, code: StatusCode, status: Value) {
        let mut state = locked(&self.state);
        (state.code, state.status) = (code, status);
    }

    /// The `spec` of each review since the last call.
    #[must_use]
    pub fn take_specs(&self) -> Vec<Value> {
        mem::take(&mut locked(&self.state).specs)
    }
}

struct Reviews(Arc<Mutex<State>>);

impl Handler for Reviews {
    fn handle(&self, request: &Request<Bytes>) -> Reply {
        let Ok(mut review) = serde_json::from_slice::<Value>(request.body()) else {
            return Reply::Reset;
        };
        let mut state = locked(&self.0);
        state.specs.push(review["spec"].take());
        review["status"] = state.status.clone();
        let mut answer = Response::new(Bytes::from(review.to_string()));
        *answer.status_mut() = state.code;
        let json = http::HeaderValue::from_static("application/json");
        answer.headers_mut().insert(http::header::CONTENT_TYPE, json);
        Reply::Response(answer)
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
