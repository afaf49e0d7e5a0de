//! Where the real programs are that the tests run.

use std::{
    env,
    path::{Path, PathBuf},
};

/// The versions, in the one place where they stand.
const VERSIONS: &str = include_str!("../../../setup/versions.env");

/// A program that `make setup` brings. `setup/parts.sh` has the same rule for where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The Envoy that everything is tested on.
    Envoy,
    /// The oldest Envoy supported.
    EnvoyOldest,
    /// The store behind the API server.
    Etcd,
    /// The Kubernetes API server.
    KubeApiserver,
    /// The controllers, the one for HorizontalPodAutoscalers among them.
    KubeControllerManager,
    /// The command line client.
    Kubectl,
    /// Istio's control plane.
    PilotDiscovery,
    /// The client of image registries, which can be one.
    Crane,
    /// Prometheus, without service discovery.
    Prometheus,
    /// Its tool, which checks and tests rules.
    Promtool,
    /// The package manager of Kubernetes.
    Helm,
    /// The program that runs hooks before a commit.
    PreCommit,
}

/// What the scripts call a part.
struct Names {
    variable: &'static str,
    version: &'static str,
    folder: &'static str,
    binary: &'static str,
    script: &'static str,
}

impl Part {
    /// Every part.
    pub const ALL: [Self; 12] = [
        Self::Envoy,
        Self::EnvoyOldest,
        Self::Etcd,
        Self::KubeApiserver,
        Self::KubeControllerManager,
        Self::Kubectl,
        Self::PilotDiscovery,
        Self::Crane,
        Self::Prometheus,
        Self::Promtool,
        Self::Helm,
        Self::PreCommit,
    ];

    /// The program: what its variable says, else `KUBEBUILDER_ASSETS` for what belongs to a control plane, else the
    /// cache that `make setup` fills.
    ///
    /// # Panics
    /// Where there is no such file, naming the command that brings it.
    #[must_use]
    #[track_caller]
    pub fn path(self) -> PathBuf {
        let path = self.expected();
        let Names { variable, script, .. } = self.names();
        assert!(
            path.exists(),
            "{self:?} is not at {}: run `make setup`, or {script}; or set {variable}",
            path.display()
        );
        path
    }

    /// Where the program should be, whether or not it is there.
    #[must_use]
    pub fn expected(self) -> PathBuf {
        let Names {
            variable,
            folder,
            binary,
            ..
        } = self.names();
        if let Some(path) = given(variable) {
            return path;
        }
        if let Some(path) = self.asset() {
            return path;
        }
        cache().join(format!("{folder}-{}", self.version())).join(binary)
    }

    /// The environment variable that overrides where the part is.
    #[must_use]
    pub fn variable(self) -> &'static str {
        self.names().variable
    }

    /// The pinned version, as `1.40.0`.
    ///
    /// # Panics
    /// When `setup/versions.env` does not name it.
    #[must_use]
    pub fn version(self) -> &'static str {
        let name = self.names().version;
        VERSIONS
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
            .unwrap_or_else(|| panic!("setup/versions.env has no {name}"))
    }

    /// The program among the assets that other Kubernetes projects share, if the user has them.
    fn asset(self) -> Option<PathBuf> {
        let is_asset = !matches!(
            self,
            Self::Envoy
                | Self::EnvoyOldest
                | Self::PilotDiscovery
                | Self::Crane
                | Self::Prometheus
                | Self::Promtool
                | Self::Helm
                | Self::PreCommit
        );
        let path = given("KUBEBUILDER_ASSETS")
            .filter(|_| is_asset)?
            .join(self.names().binary);
        path.exists().then_some(path)
    }

    fn names(self) -> Names {
        let kubernetes = |variable, binary| Names {
            variable,
            version: "KUBERNETES_VERSION",
            folder: binary,
            binary,
            script: "setup/control-plane",
        };
        let envoy = |variable, version| Names {
            variable,
            version,
            folder: "envoy",
            binary: "bin/envoy",
            script: "setup/envoy --all",
        };
        let prometheus = |variable, binary| Names {
            variable,
            version: "PROMETHEUS_VERSION",
            folder: "prometheus",
            binary,
            script: "setup/prometheus",
        };
        match self {
            Self::Envoy => envoy("BURST_ENVOY", "ENVOY_VERSION"),
            Self::EnvoyOldest => envoy("BURST_ENVOY_OLDEST", "ENVOY_OLDEST_VERSION"),
            Self::Etcd => Names {
                version: "ETCD_VERSION",
                ..kubernetes("BURST_ETCD", "etcd")
            },
            Self::KubeApiserver => kubernetes("BURST_KUBE_APISERVER", "kube-apiserver"),
            Self::KubeControllerManager => kubernetes("BURST_KUBE_CONTROLLER_MANAGER", "kube-controller-manager"),
            Self::Kubectl => kubernetes("BURST_KUBECTL", "kubectl"),
            Self::PilotDiscovery => Names {
                variable: "BURST_PILOT_DISCOVERY",
                version: "ISTIO_VERSION",
                folder: "istiod",
                binary: "pilot-discovery",
                script: "setup/istiod",
            },
            Self::Crane => Names {
                variable: "BURST_CRANE",
                version: "CRANE_VERSION",
                folder: "crane",
                binary: "crane",
                script: "setup/tools",
            },
            Self::Prometheus => prometheus("BURST_PROMETHEUS", "prometheus"),
            Self::Promtool => prometheus("BURST_PROMTOOL", "promtool"),
            Self::Helm => Names {
                variable: "BURST_HELM",
                version: "HELM_VERSION",
                folder: "helm",
                binary: "helm",
                script: "setup/helm",
            },
            Self::PreCommit => Names {
                variable: "BURST_PRE_COMMIT",
                version: "PRE_COMMIT_VERSION",
                folder: "pre-commit",
                binary: "pre-commit",
                script: "setup/pre-commit",
            },
        }
    }
}

/// A module of the filter that `cargo xtask wasm --test` built, by its file name: `burst-metrics.wasm`.
///
/// # Panics
/// Where there is no such file, naming the command that builds it.
#[must_use]
#[track_caller]
pub fn wasm(file: &str) -> PathBuf {
    built("wasm", file, "cargo xtask wasm --test")
}

/// What `cargo xtask image` made, by its file name: `burst-metrics` is the folder of an image.
///
/// # Panics
/// Where there is no such file, naming the command that makes it.
#[must_use]
#[track_caller]
pub fn image(file: &str) -> PathBuf {
    built("image", file, "cargo xtask image")
}

#[track_caller]
fn built(folder: &str, file: &str, command: &str) -> PathBuf {
    let target = given("CARGO_TARGET_DIR").unwrap_or_else(|| repository().join("target"));
    let path = target.join(folder).join(file);
    assert!(path.exists(), "{} is not there: run `{command}`", path.display());
    path
}

/// The root of the checkout, for tests that read what it ships.
#[must_use]
pub fn repository() -> &'static Path {
    let kit = Path::new(env!("CARGO_MANIFEST_DIR"));
    kit.ancestors().nth(2).unwrap_or(kit)
}

fn cache() -> PathBuf {
    given("BURST_CACHE").unwrap_or_else(|| {
        let base = given("XDG_CACHE_HOME").unwrap_or_else(|| given("HOME").unwrap_or_default().join(".cache"));
        base.join("burst-metrics")
    })
}

/// A variable that is set and not empty, as the shell's `${NAME:-…}` takes it.
fn given(variable: &str) -> Option<PathBuf> {
    env::var_os(variable)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_scripts_look_in_the_same_places() {
        for part in Part::ALL {
            let output = Command::new(repository().join("setup/paths"))
                .arg(part.variable())
                .output()
                .unwrap();
            let theirs = String::from_utf8(output.stdout).unwrap();
            assert_eq!(Path::new(theirs.trim_end()), part.expected(), "{part:?}");
        }
    }

    #[test]
    #[should_panic(expected = "cargo xtask wasm --test")]
    fn a_missing_module_names_the_command_that_builds_it() {
        drop(wasm("no-such.wasm"));
    }
}
