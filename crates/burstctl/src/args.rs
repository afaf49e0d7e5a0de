//! The command line.

#[cfg(feature = "live")]
mod cluster;
mod examples;
mod kubernetes;
#[cfg(feature = "live")]
mod live;
mod output;
mod parse;
mod policy;
mod shell;
mod simulate;

#[cfg(feature = "live")]
pub use cluster::ClusterArgs;
pub use kubernetes::{KubernetesArgs, kubernetes_versions};
#[cfg(feature = "live")]
pub use live::{DoctorArgs, PolicyCheckArgs, PreviewArgs};
pub use output::{LintFormat, OutputFormat, SimulateFormat};
pub use parse::parse;
pub use policy::{DefaultDecisionArg, PolicyAdmissionArgs, PolicyArgs, PolicyTestArgs};
pub use shell::{CompletionArgs, ManArgs, VersionArgs};
pub use simulate::SimulateArgs;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Check, write, explain and simulate HorizontalPodAutoscalers, and install and
/// check the burst-metrics filter.
///
/// Data goes to stdout, messages go to stderr.
///
/// Exits with 0 if everything is in order, with 1 if the command found problems,
/// and with 2 if some input could not be read or was empty.
#[derive(Debug, Parser)]
#[command(name = "burstctl", version, propagate_version = true, after_long_help = examples::BURSTCTL)]
pub struct Burstctl {
    /// The cluster and the namespace.
    #[cfg(feature = "live")]
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands of `burstctl`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show the header that each Service of a cluster would get
    ///
    /// Reads HPAs, Services and workloads as the filter does, and writes nothing. If a
    /// Service would get no header, it shows why. Your user needs the verb list on
    /// these resources; use `burstctl doctor` to check the proxy's ServiceAccount.
    /// Reads all namespaces of the configuration. With --namespace, a Role in that
    /// namespace is enough.
    ///
    /// Exits with 0 if everything is in order. Exits with 1 if a Service is autoscaled
    /// but its header is missing or incomplete: no controller has processed the HPA,
    /// two HPAs scale one workload, the target of an HPA is not read, or an object is
    /// invalid. Exits with 2 if a list could not be read. A Service without a selector,
    /// a workload or an HPA is not a problem.
    #[cfg(feature = "live")]
    #[command(after_long_help = examples::PREVIEW)]
    Preview(PreviewArgs),
    /// Check the filter on Istio gateways, and explain how to fix problems
    ///
    /// Checks the namespace istio-system, unless --namespace names another. Changes
    /// nothing. Your user needs the verb list on pods and on the Istio kinds in
    /// the gateway's namespace, create on subjectaccessreviews.authorization.k8s.io,
    /// and get and create on pods/portforward in that namespace.
    ///
    /// Exits with 0 if every check passes, with 1 if one fails, and with 2 if one could
    /// not be made.
    #[cfg(feature = "live")]
    #[command(after_long_help = examples::DOCTOR)]
    Doctor(DoctorArgs),
    /// Work with HorizontalPodAutoscalers, mostly without a cluster.
    #[command(after_long_help = examples::HPA)]
    Hpa {
        /// The command to run.
        #[command(subcommand)]
        command: HpaCommand,
    },
    /// Work with policies for external metrics, mostly without a cluster.
    #[command(after_long_help = examples::POLICY)]
    Policy {
        /// The command to run.
        #[command(subcommand)]
        command: PolicyCommand,
    },
    /// Install the filter in an Istio mesh.
    #[command(after_long_help = examples::ISTIO_RENDER)]
    Istio {
        /// The command to run.
        #[command(subcommand)]
        command: IstioCommand,
    },
    /// Serve the lists that the filter reads on loopback, without a token
    ///
    /// Sends requests to the cluster as the user of the kubeconfig. Only GET requests
    /// for these lists are forwarded.
    #[cfg(feature = "live")]
    #[command(after_long_help = examples::PROXY)]
    Proxy(ProxyArgs),
    /// Write a completion script for a shell
    #[command(after_long_help = examples::COMPLETION)]
    Completion(CompletionArgs),
    /// Print the version, and the Kubernetes versions whose rules burstctl knows
    #[command(after_long_help = examples::VERSION)]
    Version(VersionArgs),
    /// Write the man pages, one for each command
    #[command(hide = true, after_long_help = examples::MAN)]
    Man(ManArgs),
}

/// The commands of `burstctl policy`.
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Test which external metrics of HPAs the policies allow
    ///
    /// Shows which rule of which policy decides. Exits with 0 if every external metric
    /// is allowed, with 1 if one is refused or there is no HPA, and with 2 if a policy
    /// is invalid or some input could not be read or was empty.
    #[command(after_long_help = examples::POLICY_TEST)]
    Test(PolicyTestArgs),
    /// Write the policies as a ValidatingAdmissionPolicy with its binding
    ///
    /// It refuses the HPAs that `burstctl policy test` refuses. Existing HPAs are not
    /// checked until they change.
    #[command(after_long_help = examples::POLICY_ADMISSION)]
    Admission(PolicyAdmissionArgs),
    /// Check the policies of a cluster as the filter does
    ///
    /// Reads every ExternalMetricPolicy and shows whether the filter accepts it. Your
    /// user needs the verb list on externalmetricpolicies.burstmetrics.dev, and with
    /// --write-status the verb patch on externalmetricpolicies/status.
    ///
    /// Exits with 0 if all policies are valid, with 1 if one is not, and with 2 if they
    /// could not be read or a status could not be written.
    #[cfg(feature = "live")]
    #[command(after_long_help = examples::POLICY_CHECK)]
    Check(PolicyCheckArgs),
}

/// The commands of `burstctl hpa`.
#[derive(Debug, Subcommand)]
pub enum HpaCommand {
    /// Report HPAs that kube-apiserver refuses or that can never work
    ///
    /// Reads files, or with a cluster option such as --namespace or --all-namespaces
    /// the HPAs of a cluster and their targets; it writes nothing. Your user then needs
    /// the verb list on horizontalpodautoscalers, deployments and statefulsets, and on
    /// replicasets if an HPA scales one. With the verb list on limitranges,
    /// poddisruptionbudgets and verticalpodautoscalers it finds more.
    ///
    /// Exits with 0 if there are no errors, with 1 if there are, and with 2 if some
    /// input could not be read or there is no HPA.
    #[command(after_long_help = examples::LINT)]
    Lint(LintArgs),
    /// Write autoscaling/v2 YAML from short forms and from HPAs
    #[command(after_long_help = examples::RENDER)]
    Render(RenderArgs),
    /// Rewrite autoscaling/v1, v2beta1 and v2beta2 as v2
    #[command(after_long_help = examples::MIGRATE)]
    Migrate(MigrateArgs),
    /// Explain HPAs in words and numbers
    #[command(after_long_help = examples::EXPLAIN)]
    Explain(ExplainArgs),
    /// Simulate the HPA controller over a changing load: were there enough pods?
    #[command(after_long_help = examples::SIMULATE)]
    Simulate(SimulateArgs),
}

/// The files to read.
#[derive(Debug, Args)]
#[command(next_line_help = true)]
pub struct FileArgs {
    /// YAML or JSON files, directories of them, or `-` for stdin.
    #[arg(value_name = "FILE")]
    paths: Vec<PathBuf>,
    /// Another file, as in kubectl.
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    more: Vec<PathBuf>,
}

impl FileArgs {
    /// Returns all paths in the order given.
    #[must_use]
    pub fn paths(&self) -> Vec<PathBuf> {
        self.paths.iter().chain(&self.more).cloned().collect()
    }
}

/// The arguments of `burstctl hpa lint`.
#[derive(Debug, Args)]
#[command(next_line_help = true)]
pub struct LintArgs {
    /// The files to read.
    #[command(flatten)]
    pub files: FileArgs,
    /// The Kubernetes version whose rules apply.
    #[command(flatten)]
    pub cluster: KubernetesArgs,
    /// Accept input without an HPA. Files that mention none may have any content,
    /// as in a hook that lints all files of a commit
    #[arg(long)]
    pub allow_empty: bool,
    /// The output format of the findings.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: LintFormat,
}

/// The arguments of `burstctl hpa render`.
#[derive(Debug, Args)]
#[command(next_line_help = true)]
pub struct RenderArgs {
    /// The files to read.
    #[command(flatten)]
    pub files: FileArgs,
    /// The Kubernetes version whose rules apply.
    #[command(flatten)]
    pub cluster: KubernetesArgs,
    /// Fill in every default, as Kubernetes stores the HPA.
    #[arg(long)]
    pub defaults: bool,
    /// Print the JSON schema of the short form, and nothing else.
    #[arg(long, exclusive = true)]
    pub schema: bool,
}

/// The arguments of `burstctl hpa migrate`.
#[derive(Debug, Args)]
#[command(next_line_help = true)]
pub struct MigrateArgs {
    /// The files to read.
    #[command(flatten)]
    pub files: FileArgs,
}

/// The arguments of `burstctl hpa explain`.
#[derive(Debug, Args)]
#[command(next_line_help = true)]
pub struct ExplainArgs {
    /// YAML or JSON files, directories of them, or `-` for stdin. With a cluster option such as --context or --namespace,
    /// the names of HPAs in the cluster: NAME or NAMESPACE/NAME
    #[arg(value_name = "FILE | NAME", required = true)]
    pub subjects: Vec<PathBuf>,
    /// Explain the status in the file too: the controller's last decision.
    #[arg(long)]
    pub status: bool,
    /// The Kubernetes version whose rules apply.
    #[command(flatten)]
    pub cluster: KubernetesArgs,
}

/// The commands of `burstctl istio`.
#[derive(Debug, Subcommand)]
pub enum IstioCommand {
    /// Write the Istio manifests for your own gateway or sidecars
    ///
    /// Pipe the output to `kubectl apply -f -`.
    #[command(after_long_help = examples::ISTIO_RENDER)]
    Render(IstioRenderArgs),
}

/// The arguments of `burstctl istio render`.
#[derive(Debug, Args)]
#[command(next_line_help = true)]
pub struct IstioRenderArgs {
    /// The file of values, or `-` for stdin; istio/values.yaml shows all keys.
    #[arg(long, value_name = "FILE", required_unless_present = "schema")]
    pub values: Option<PathBuf>,
    /// Print the JSON schema of the values, and nothing else.
    #[arg(long, exclusive = true)]
    pub schema: bool,
}

/// The arguments of `burstctl proxy`.
#[cfg(feature = "live")]
#[derive(Debug, Args)]
#[command(next_line_help = true)]
pub struct ProxyArgs {
    /// The loopback address to listen on; port 0 chooses a free port.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8001")]
    pub listen: std::net::SocketAddr,
    /// A file with the filter's configuration as JSON or YAML, or with a
    /// WasmPlugin, TrafficExtension or EnvoyFilter that contains it; `-` is
    /// stdin. The proxy serves only the lists that this configuration
    /// reads. The default is Services, HPAs, Deployments and StatefulSets
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use burst_hpa::Options;
    use clap::CommandFactory as _;

    use super::*;

    /// The help of a command and of all commands below it.
    fn help_texts(command: &mut clap::Command) -> Vec<String> {
        let help = command.render_long_help().to_string();
        let below = command
            .get_subcommands_mut()
            .filter(|command| command.get_name() != "help")
            .flat_map(help_texts);
        std::iter::once(help).chain(below).collect()
    }

    #[test]
    fn help_fits_80_columns() {
        let mut command = Burstctl::command().term_width(80);
        command.build();
        let texts = help_texts(&mut command);
        let too_long: Vec<_> = texts
            .iter()
            .flat_map(|text| text.lines())
            .filter(|line| line.chars().count() > 80)
            .collect();
        assert!(too_long.is_empty(), "{too_long:#?}");
    }

    #[test]
    fn the_help_of_each_command_has_examples() {
        for help in help_texts(&mut Burstctl::command()) {
            assert!(help.contains("\nExamples:\n  "), "{help}");
        }
    }

    #[cfg(feature = "live")]
    #[test]
    fn help_states_the_exit_codes() {
        for command in ["preview", "doctor", "policy test", "policy check"] {
            let command = ["burstctl"].into_iter().chain(command.split(' ')).chain(["--help"]);
            let help = Burstctl::try_parse_from(command).unwrap_err().to_string();
            assert!(help.contains("Exits with 0 if "), "{help}");
        }
    }

    #[test]
    fn versions_and_gates_become_options() {
        let cluster = |args: &[&str]| {
            let args = ["burstctl", "hpa", "lint", "-f", "-"].iter().chain(args);
            let Command::Hpa {
                command: HpaCommand::Lint(lint),
            } = Burstctl::try_parse_from(args).unwrap().command
            else {
                panic!()
            };
            lint.cluster.options()
        };
        assert_eq!(cluster(&[]), Options::default());
        assert!(!cluster(&["--kube-version", "v1.34.2"]).tolerance);
        let both = cluster(&["--feature-gates", "HPAScaleToZero=true,HPAConfigurableTolerance=false"]);
        assert!(both.scale_to_zero && !both.tolerance);
    }
}
