//! Requests that name the Envoy cluster they go to.

use super::bootstrap::TO;
use crate::http::Request;

impl Request {
    /// For any path of the upstream, by way of that Envoy cluster.
    #[must_use]
    pub fn to(cluster: &str) -> Self {
        Self::get("/").through(cluster)
    }

    /// The same by way of that Envoy cluster.
    #[must_use]
    pub fn through(self, cluster: &str) -> Self {
        self.header(TO, cluster)
    }
}
