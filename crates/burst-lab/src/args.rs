//! The command line.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use burst_lab::api::WatchConfig;
use burst_lab::lab::{API_ADDR, SERVICES_ADDR};
use clap::{Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  burst-lab run --for 1m
  burst-lab serve --api 127.0.0.1:9001
  burst-lab help serve";

const SERVE_EXAMPLES: &str = "\
Examples:
  burst-lab serve
  burst-lab serve --still --api 127.0.0.1:9001

  # Let all HPA requests fail, and list the other faults
  curl -X PUT localhost:8001/lab/fault -d \\
    '{\"resource\":\"horizontalpodautoscalers.autoscaling\",\"fault\":\"forbidden\"}'
  curl localhost:8001/lab/

  # A server without WatchList, as Kubernetes 1.33 is by default
  burst-lab serve --no-watch-list";

const RUN_EXAMPLES: &str = "\
Examples:
  burst-lab run
  burst-lab run --envoy ./envoy --for 30s --plain
  burst-lab run --proxy 127.0.0.1:8081 --api 127.0.0.1:8011

  # The table of 70 seconds as an animated SVG
  burst-lab run --record demo.svg --seconds 70";

/// Simulate a Kubernetes cluster on one machine
///
/// The simulated cluster has a Kubernetes API and sample services, and its load
/// rises and falls. `run` also starts a real Envoy in front of it.
#[derive(Debug, Parser)]
#[command(name = "burst-lab", verbatim_doc_comment, after_help = EXAMPLES, args_override_self = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the simulated Kubernetes API and the sample services
    ///
    /// The command runs until it receives SIGINT, SIGTERM or SIGHUP. The API
    /// speaks HTTP/1.1 and HTTP/2 without TLS. `/lab` on the same port controls it
    /// while it runs.
    #[command(verbatim_doc_comment, after_help = SERVE_EXAMPLES)]
    Serve(Serve),
    /// Serve both behind a real Envoy, send requests and show the responses
    ///
    /// Two clients send the same number of requests to a service, until it is full.
    /// One of them reads x-burst and goes elsewhere in time.
    ///
    /// In a terminal the command draws a live table, and `q` ends it. Otherwise it
    /// writes a line for each change.
    #[command(verbatim_doc_comment, after_help = RUN_EXAMPLES)]
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

/// How the simulated API server serves watches.
#[derive(Debug, clap::Args)]
pub(crate) struct WatchOptions {
    /// Switch the feature gate WatchList off
    #[arg(long)]
    no_watch_list: bool,
    /// Time between the bookmarks of a quiet watch
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = humantime::parse_duration)]
    bookmark_period: Duration,
}

impl WatchOptions {
    pub(crate) fn config(&self) -> WatchConfig {
        WatchConfig {
            watch_list: !self.no_watch_list,
            bookmark_period: u64::try_from(self.bookmark_period.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

#[derive(Debug, clap::Args)]
#[command(next_line_help = true)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) lab: Addresses,
    #[command(flatten)]
    pub(crate) watches: WatchOptions,
    /// Keep the replicas of every HPA constant
    #[arg(long)]
    pub(crate) still: bool,
}

#[derive(Debug, clap::Args)]
#[command(next_line_help = true)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) lab: Addresses,
    #[command(flatten)]
    pub(crate) watches: WatchOptions,
    /// The Envoy binary
    #[arg(long, value_name = "PATH", default_value = "envoy")]
    pub(crate) envoy: PathBuf,
    /// The configuration of Envoy; the default is envoy-local/envoy.yaml, or
    /// envoy-local/context.yaml with --context
    #[arg(verbatim_doc_comment, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The folder of the module; the default is the one in the configuration
    #[arg(long, value_name = "DIR")]
    pub(crate) modules: Option<PathBuf>,
    /// Keep Envoy's log in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) envoy_log: Option<PathBuf>,
    /// Address at which Envoy is reached; its port replaces the one in the
    /// configuration
    #[arg(verbatim_doc_comment, long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    pub(crate) proxy: SocketAddr,
    /// Port of Envoy's admin interface; any free port if it is in use
    #[arg(long, value_name = "PORT", default_value_t = 9901)]
    pub(crate) admin: u16,
    /// Number of worker threads of Envoy
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) concurrency: u16,
    /// Exit after this time, such as 30s
    #[arg(long = "for", value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub(crate) limit: Option<Duration>,
    /// Write lines instead of the table, in a terminal too
    #[arg(long)]
    pub(crate) plain: bool,
    /// Write the table of each second to an animated SVG, and exit
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Seconds to record
    #[arg(long, value_name = "N", default_value_t = 70, requires = "record",
        value_parser = clap::value_parser!(u16).range(1..=70))]
    pub(crate) seconds: u16,
    /// Read the cluster of this kubeconfig context instead of the simulated
    /// one, without writing to it; "" is the current context
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
    fn the_help_of_every_command_has_examples_and_fits_eighty_columns() {
        let mut root = Args::command();
        root.build();
        let helps = root
            .get_subcommands_mut()
            .filter(|command| command.get_name() != "help");
        let mut helps: Vec<_> = helps.map(|command| command.render_long_help().to_string()).collect();
        helps.push(root.render_long_help().to_string());
        for help in helps {
            assert!(help.contains("\nExamples:\n  "), "{help}");
            let too_wide: Vec<_> = help.lines().filter(|line| line.chars().count() > 80).collect();
            assert_eq!(too_wide, [""; 0], "{help}");
        }
    }

    #[test]
    fn the_options_of_watches_are_those_of_the_server() {
        let config = |arguments: &[&str]| {
            let arguments = ["burst-lab", "serve"].iter().chain(arguments);
            match Args::try_parse_from(arguments).unwrap().command {
                Command::Serve(serve) => serve.watches.config(),
                Command::Run(_) => panic!("not serve"),
            }
        };
        assert_eq!(config(&[]), WatchConfig::default());
        let changed = WatchConfig {
            watch_list: false,
            bookmark_period: 1_500,
        };
        assert_eq!(config(&["--no-watch-list", "--bookmark-period", "1s 500ms"]), changed);
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
