//! The words of the command line.

mod kubernetes;
#[cfg(feature = "live")]
mod live;
mod parse;
mod policy;

pub use kubernetes::KubernetesArgs;
#[cfg(feature = "live")]
pub use live::{DoctorArgs, PolicyCheckArgs, PreviewArgs};
pub use parse::parse;
pub use policy::{DefaultDecisionArg, PolicyAdmissionArgs, PolicyArgs, PolicyTestArgs};

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Burst headers and the HorizontalPodAutoscalers behind them: what they say, and what is wrong with them.
///
/// Data goes to stdout, words to stderr. Ends with 0 if all is well, with 1 if there is something to object to, with 2
/// if something could not be read or has nothing in it.
#[derive(Debug, Parser)]
#[command(name = "burstctl", version, propagate_version = true)]
pub struct Burstctl {
    /// What about.
    #[command(subcommand)]
    pub command: Command,
}

/// What about.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// HorizontalPodAutoscalers, mostly without a cluster.
    Hpa {
        /// What to do.
        #[command(subcommand)]
        command: HpaCommand,
    },
    /// The filter on a mesh.
    Istio {
        /// What to do.
        #[command(subcommand)]
        command: IstioCommand,
    },
    /// Who may read which external metric, mostly without a cluster.
    Policy {
        /// What to do.
        #[command(subcommand)]
        command: PolicyCommand,
    },
    /// Serve the lists that the filter reads, of any cluster of the kubeconfig, on loopback and without a token.
    #[cfg(feature = "live")]
    Proxy(ProxyArgs),
    /// Say which header each Service of a cluster would carry, or why none, without installing anything.
    ///
    /// Reads HPAs, Services and the workloads behind them as the filter would, joins them as the filter would, and
    /// writes nothing. Your user needs the verb list on each of them; whether the proxy's ServiceAccount has it is for
    /// `doctor`.
    ///
    /// Ends with 0 if all is well, with 1 if something is autoscaled and the header does not tell, or not all: an HPA
    /// that no controller has looked at, two HPAs on one workload, an HPA that scales nothing that is read, an object
    /// that cannot be read; with 2 if a list could not be had. A Service without a selector, a workload or an HPA is
    /// nothing to object to.
    #[cfg(feature = "live")]
    Preview(PreviewArgs),
    /// Say whether what is installed on Istio's gateways works, and what to do where it does not.
    ///
    /// Looks, and changes nothing. Your user needs the verb list on pods and on the Istio kinds in the gateway's
    /// namespace, create on subjectaccessreviews.authorization.k8s.io, and get and create on pods/portforward there.
    ///
    /// Ends with 0 if every check is well, with 1 if one is not, with 2 if one could not be made.
    #[cfg(feature = "live")]
    Doctor(DoctorArgs),
}

/// What to do with policies.
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Say which external metrics of HPAs pass, and which rule of which policy decides.
    ///
    /// Ends with 0 if every external metric passes, with 1 if one is refused or there is no HPA, with 2 if a policy is
    /// none, or something could not be read or has nothing in it.
    Test(PolicyTestArgs),
    /// Write the ValidatingAdmissionPolicy that refuses an HPA for what `test` refuses, and its binding.
    ///
    /// The HPAs that are there already are not looked at until they change.
    Admission(PolicyAdmissionArgs),
    /// Check the policies of a cluster as the filter does.
    ///
    /// Reads every ExternalMetricPolicy, and says of each whether the filter takes it. Your user needs the verb list on
    /// externalmetricpolicies.burstmetrics.dev, and with --write-status patch on externalmetricpolicies/status.
    ///
    /// Ends with 0 if all are policies, with 1 if one is not, with 2 if they could not be read or a status not be
    /// written.
    #[cfg(feature = "live")]
    Check(PolicyCheckArgs),
}

/// What to do with HPAs.
#[derive(Debug, Subcommand)]
pub enum HpaCommand {
    /// Say what kube-apiserver would refuse, and what it accepts and never works.
    Lint(LintArgs),
    /// Write autoscaling/v2 YAML, from short files and from HPAs.
    Render(RenderArgs),
    /// Rewrite autoscaling/v1, v2beta1 and v2beta2 as v2.
    Migrate(MigrateArgs),
    /// Say in words and numbers what HPAs do.
    Explain(ExplainArgs),
    /// Play the HPA controller over a load that changes.
    Simulate(SimulateArgs),
}

/// Which files.
#[derive(Debug, Args)]
pub struct FileArgs {
    /// YAML or JSON files, directories of them, or `-` for stdin.
    #[arg(value_name = "FILE")]
    paths: Vec<PathBuf>,
    /// Another file, as in kubectl.
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    more: Vec<PathBuf>,
}

impl FileArgs {
    /// All of them, in the order given.
    #[must_use]
    pub fn paths(&self) -> Vec<PathBuf> {
        self.paths.iter().chain(&self.more).cloned().collect()
    }
}

/// `burstctl hpa lint`
#[derive(Debug, Args)]
pub struct LintArgs {
    /// Which files.
    #[command(flatten)]
    pub files: FileArgs,
    /// Which cluster.
    #[command(flatten)]
    pub cluster: KubernetesArgs,
    /// How findings are written.
    #[arg(long, value_enum, default_value_t)]
    pub format: LintFormat,
}

/// How findings are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LintFormat {
    /// For people, with the line of the file.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
    /// SARIF 2.1.0.
    Sarif,
    /// Annotations of GitHub Actions.
    Github,
}

/// `burstctl hpa render`
#[derive(Debug, Args)]
pub struct RenderArgs {
    /// Which files.
    #[command(flatten)]
    pub files: FileArgs,
    /// Which cluster.
    #[command(flatten)]
    pub cluster: KubernetesArgs,
    /// Write what Kubernetes stores: every default filled in.
    #[arg(long)]
    pub defaults: bool,
    /// Print the JSON schema of the short form, and nothing else.
    #[arg(long, exclusive = true)]
    pub schema: bool,
}

/// `burstctl hpa migrate`
#[derive(Debug, Args)]
pub struct MigrateArgs {
    /// Which files.
    #[command(flatten)]
    pub files: FileArgs,
}

/// `burstctl hpa explain`
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// YAML or JSON files, directories of them, or `-` for stdin; with --context, NAMESPACE/NAME of HPAs there.
    #[arg(value_name = "FILE | NAMESPACE/NAME", required = true)]
    pub subjects: Vec<PathBuf>,
    /// Go by the status in the file: what the controller saw and did last.
    #[arg(long)]
    pub status: bool,
    /// Which cluster.
    #[command(flatten)]
    pub cluster: KubernetesArgs,
    /// Ask the cluster of this kubeconfig context what the HPA is doing; "" is the current context.
    #[cfg(feature = "live")]
    #[arg(long, value_name = "NAME", conflicts_with = "status")]
    pub context: Option<String>,
}

/// `burstctl hpa simulate`
#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// The file with one HPA, and perhaps its target; `-` is stdin.
    pub file: PathBuf,
    /// The load over time: CSV with a head of `seconds` and a column for each metric; `-` is stdin.
    #[arg(long, value_name = "FILE")]
    pub trace: PathBuf,
    /// How the story is told.
    #[arg(long, value_enum, default_value_t)]
    pub format: SimulateFormat,
    /// Replicas at the beginning; minReplicas if not given.
    #[arg(long)]
    pub replicas: Option<i32>,
    /// Seconds from the birth of a pod until it is ready.
    #[arg(long, default_value_t = 0)]
    pub startup: u32,
    /// Which cluster.
    #[command(flatten)]
    pub cluster: KubernetesArgs,
}

/// What to do with Istio.
#[derive(Debug, Subcommand)]
pub enum IstioCommand {
    /// Write the set for one's own gateway or sidecars, for `kubectl apply -f -`.
    Render(IstioRenderArgs),
}

/// `burstctl istio render`
#[derive(Debug, Args)]
pub struct IstioRenderArgs {
    /// The file of values, or `-` for stdin; istio/values.yaml shows every key.
    #[arg(long, value_name = "FILE", required_unless_present = "schema")]
    pub values: Option<PathBuf>,
    /// Print the JSON schema of the values, and nothing else.
    #[arg(long, exclusive = true)]
    pub schema: bool,
}

/// `burstctl proxy`
#[cfg(feature = "live")]
#[derive(Debug, Args)]
pub struct ProxyArgs {
    /// The kubeconfig context; the current one if not given.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub context: String,
    /// Where it listens, on loopback; port 0 takes a free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8001")]
    pub listen: std::net::SocketAddr,
    /// The filter's configuration, as JSON or YAML, or a WasmPlugin, TrafficExtension or EnvoyFilter that has it in it;
    /// `-` is stdin. Only what it reads is served. Services, HPAs, Deployments and StatefulSets if not given.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// How the story is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SimulateFormat {
    /// A line for each sync in which something changed.
    #[default]
    Table,
    /// One JSON object for each sync.
    Json,
    /// A picture of characters.
    Plot,
    /// A picture for a browser.
    Svg,
}

/// How it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

#[cfg(test)]
mod tests {
    use burst_hpa::Options;

    use super::*;

    #[cfg(feature = "live")]
    #[test]
    fn help_says_how_a_command_ends() {
        for words in ["preview", "doctor", "policy test", "policy check"] {
            let words = ["burstctl"].into_iter().chain(words.split(' ')).chain(["--help"]);
            let help = Burstctl::try_parse_from(words).unwrap_err().to_string();
            assert!(help.contains("Ends with 0 if "), "{help}");
        }
    }

    #[test]
    fn versions_and_gates_become_options() {
        let cluster = |words: &[&str]| {
            let words = ["burstctl", "hpa", "lint", "-f", "-"].iter().chain(words);
            let Command::Hpa {
                command: HpaCommand::Lint(lint),
            } = Burstctl::try_parse_from(words).unwrap().command
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
