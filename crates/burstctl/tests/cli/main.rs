//! Tests of the `burstctl` command: its output, its messages and its exit code.

#[cfg(feature = "live")]
mod doctor;
#[cfg(feature = "live")]
mod explain_cluster;
mod explain_simulate;
mod help;
mod istio;
mod lint;
#[cfg(feature = "live")]
mod lint_cluster;
mod lint_hooks;
mod lint_input;
mod plugin;
#[cfg(feature = "live")]
mod policy;
#[cfg(feature = "live")]
mod preview;
#[cfg(feature = "live")]
mod proxy;
mod readme;
mod render_migrate;
mod simulate_load;
mod simulate_plot;
mod support;
#[cfg(feature = "live")]
mod unavailable_cluster;
mod untrusted_text;
