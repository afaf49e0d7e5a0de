//! The filter in a real Envoy, with a real Kubernetes API: RBAC is on, TLS is verified, and the token is a
//! ServiceAccount's.
//!
//! These tests run the shipped files with other ports and paths: the bootstraps of `filter-config/`,
//! `istio/base/rbac.yaml`, and the sample cluster of `burst-lab`, which `kubectl` creates.

mod account;
mod expected;
mod gateway;
mod sample;
mod shipped;

mod connection;
mod custom_kind;
mod handover;
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
