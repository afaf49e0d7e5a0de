//! helm with the chart of this repository.

use std::{path::PathBuf, process::Command};

use burst_testkit::{ControlPlane, Part, repository};
use burstctl::yaml;
use serde_json::Value;
use tempfile::TempDir;

/// An example of the chart's values, with the release that its first line describes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Example {
    pub(crate) file: &'static str,
    pub(crate) release: &'static str,
    pub(crate) namespace: &'static str,
}

/// Every file of `charts/burst-metrics/examples/`.
pub(crate) const EXAMPLES: [Example; 14] = [
    example("gateway-api", "edge"),
    example("gateway-elsewhere", "istio-ingress"),
    example("gateway-envoyfilter", "istio-system"),
    example("gateway-trafficextension", "istio-system"),
    example("gateway", "istio-system"),
    example("header-only", "istio-system"),
    example("metrics-apis-review", "istio-system"),
    example("metrics-apis", "istio-system"),
    example("monitoring", "burst-metrics"),
    example("own-gateway", "burst-metrics"),
    example("sidecar-envoyfilter", "shop"),
    example("sidecar", "shop"),
    example("spokes", "shop"),
    Example {
        file: "waypoint",
        release: "burst-metrics-waypoint",
        namespace: "shop",
    },
];

const fn example(file: &'static str, namespace: &'static str) -> Example {
    Example {
        file,
        release: "burst-metrics",
        namespace,
    }
}

impl Example {
    /// The one of that name.
    pub(crate) fn named(file: &str) -> Self {
        let found = EXAMPLES.into_iter().find(|example| example.file == file);
        found.unwrap_or_else(|| panic!("no example {file}"))
    }

    /// The arguments of `helm COMMAND` for this example.
    pub(crate) fn arguments(self, command: &str) -> Vec<String> {
        let values = chart().join("examples").join(format!("{}.yaml", self.file));
        [
            command,
            self.release,
            &chart().display().to_string(),
            "--namespace",
            self.namespace,
            "--values",
            &values.display().to_string(),
        ]
        .map(str::to_owned)
        .to_vec()
    }
}

/// The folder of the chart.
pub(crate) fn chart() -> PathBuf {
    repository().join("charts/burst-metrics")
}

/// helm with folders of its own, and a cluster if it has one.
#[derive(Debug)]
pub(crate) struct Helm {
    folder: TempDir,
    kubeconfig: PathBuf,
}

impl Helm {
    /// helm without a cluster.
    pub(crate) fn offline() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let kubeconfig = folder.path().join("no-kubeconfig");
        Self { folder, kubeconfig }
    }

    /// helm as an administrator of that cluster.
    pub(crate) fn of(cluster: &ControlPlane) -> Self {
        Self {
            kubeconfig: cluster.kubeconfig(),
            ..Self::offline()
        }
    }

    /// Runs helm and returns its output; the error is what it wrote to stderr.
    pub(crate) fn try_run<A: AsRef<str>>(&self, arguments: &[A]) -> Result<String, String> {
        let output = Command::new(Part::Helm.path())
            .args(arguments.iter().map(AsRef::as_ref))
            .env("HOME", self.folder.path())
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HELM_CACHE_HOME", self.folder.path().join("cache"))
            .env("HELM_CONFIG_HOME", self.folder.path().join("config"))
            .env("HELM_DATA_HOME", self.folder.path().join("data"))
            .output()
            .expect("helm starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() {
            Ok(text(&output.stdout))
        } else {
            Err(text(&output.stderr))
        }
    }

    /// The same, and it must succeed.
    #[track_caller]
    pub(crate) fn run<A: AsRef<str>>(&self, arguments: &[A]) -> String {
        self.try_run(arguments).unwrap_or_else(|said| {
            let arguments: Vec<_> = arguments.iter().map(AsRef::as_ref).collect();
            panic!("helm {}: {said}", arguments.join(" "))
        })
    }

    /// The objects of an example, with more arguments of helm.
    #[track_caller]
    pub(crate) fn render(&self, example: Example, more: &[&str]) -> Vec<Value> {
        let mut arguments = example.arguments("template");
        arguments.extend(more.iter().map(|&argument| argument.to_owned()));
        objects(&self.run(&arguments))
    }

    /// An empty folder that is removed with this.
    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }
}

/// The objects of a text in YAML.
#[track_caller]
pub(crate) fn objects(text: &str) -> Vec<Value> {
    let documents = yaml::documents(text).into_iter();
    let objects = documents.map(|document| document.content.expect("YAML").to_json());
    objects.filter(|object| !object.is_null()).collect()
}
