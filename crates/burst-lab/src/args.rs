//! The command line.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use burst_lab::lab::{API_ADDR, SERVICES_ADDR};
use clap::{Parser, Subcommand};

/// Run a Kubernetes API, sample services and an Envoy on one machine
#[derive(Debug, Parser)]
#[command(name = "burst-lab")]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the stand-in Kubernetes API and the sample services
    ///
    /// Runs until it gets SIGINT, SIGTERM or SIGHUP.
    Serve(Serve),
    /// Serve them, start Envoy in front, send traffic and show the responses
    Run(Run),
}

/// The addresses of the lab.
#[derive(Debug, clap::Args)]
pub(crate) struct Addresses {
    /// Address of the Kubernetes API and of /lab
    #[arg(long, value_name = "ADDR", default_value_t = API_ADDR)]
    pub(crate) api: SocketAddr,
    /// Address of the sample services
    #[arg(long, value_name = "ADDR", default_value_t = SERVICES_ADDR)]
    pub(crate) services: SocketAddr,
}

#[derive(Debug, clap::Args)]
#[command(next_line_help = true)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) lab: Addresses,
    /// Keep the replicas of every HPA constant
    #[arg(long)]
    pub(crate) still: bool,
}

#[derive(Debug, clap::Args)]
#[command(next_line_help = true)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) lab: Addresses,
    /// The Envoy binary
    #[arg(long, value_name = "PATH", default_value = "envoy")]
    pub(crate) envoy: PathBuf,
    /// Its configuration; the default is envoy-local/envoy.yaml, and with
    /// --context envoy-local/context.yaml
    #[arg(verbatim_doc_comment, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Its listener, as configured
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    pub(crate) proxy: SocketAddr,
    /// The number of its worker threads
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) concurrency: u16,
    /// Exit after this time, such as 30s
    #[arg(long = "for", value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub(crate) limit: Option<Duration>,
    /// Write lines instead of a table, also in a terminal
    #[arg(long)]
    pub(crate) plain: bool,
    /// Read the cluster of this kubeconfig context instead of the stand-in,
    /// without writing to it; "" is the current context
    #[cfg(feature = "context")]
    #[arg(verbatim_doc_comment, long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

impl Run {
    /// The configuration file of Envoy.
    pub(crate) fn config(&self) -> &Path {
        const SAMPLE: &str = "envoy-local/envoy.yaml";
        #[cfg(feature = "context")]
        let default = self.context.as_ref().map_or(SAMPLE, |_| "envoy-local/context.yaml");
        #[cfg(not(feature = "context"))]
        let default = SAMPLE;
        self.config.as_deref().unwrap_or(Path::new(default))
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn a_run_can_be_bounded() {
        let args = Args::try_parse_from(["burst-lab", "run", "--for", "1m 30s"]).unwrap();
        let Command::Run(run) = args.command else {
            panic!("not a run")
        };
        assert_eq!((run.limit, run.concurrency), (Some(Duration::from_secs(90)), 2));
    }
}
