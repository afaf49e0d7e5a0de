//! The filter in a real Envoy before a real Kubernetes API: RBAC on, TLS verified, the token of a ServiceAccount.
//!
//! What runs here is what ships, with other ports and paths: the bootstraps of `filter-config/`, `istio/base/rbac.yaml`, and
//! the sample cluster of `burst-lab`, which `kubectl` creates.

mod account;
mod gateway;
mod sample;
mod shipped;

mod custom_kind;
mod live;
mod pages;
mod preview;
mod recorded;
mod restart;
mod role;
mod scope;
mod tls;
mod token;
mod watch;
