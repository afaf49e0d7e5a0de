//! A real Prometheus with the configuration that ships, and its query API.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use burst_testkit::{Part, Process, filter::Proxy, http, port, repository};
use serde_json::Value;
use tempfile::TempDir;

/// For the start on a busy machine.
const START: Duration = Duration::from_secs(120);

/// The targets in the configuration that ships.
const PROXIES: &str = "[\"gateway.example:15090\"]";
const SERVICES: &str = "[\"gateway.example:8080\"]";

/// A file of `monitoring/`.
pub(crate) fn shipped(name: &str) -> PathBuf {
    repository().join("monitoring").join(name)
}

/// The text of a file of `monitoring/`.
pub(crate) fn read(name: &str) -> String {
    let path = shipped(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A text with each of these parts replaced.
///
/// # Panics
/// When it lacks one of them.
#[track_caller]
pub(crate) fn replace_all(text: String, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(text, |text, (ships, here)| {
        assert!(text.contains(ships), "`{ships}` is not in {text}");
        text.replace(ships, here)
    })
}

/// The address of a proxy's admin interface, which Prometheus scrapes.
pub(crate) fn admin(proxy: &Proxy) -> String {
    proxy.envoy.admin_url("").trim_start_matches("http://").to_owned()
}

/// A sample of an answer: its labels, and its value.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) labels: Value,
    pub(crate) value: f64,
}

impl Sample {
    /// The value of a label; empty if the sample does not have it.
    pub(crate) fn label(&self, name: &str) -> &str {
        self.labels[name].as_str().unwrap_or_default()
    }
}

/// A running Prometheus.
#[derive(Debug)]
pub(crate) struct Prometheus {
    address: String,
    _process: Process,
    _folder: TempDir,
}

impl Prometheus {
    /// Starts one with the shipped configuration and rules. It scrapes these targets every second instead.
    ///
    /// # Panics
    /// When it is not ready in time.
    #[track_caller]
    pub(crate) fn start(proxies: &[String], services: &[String]) -> Self {
        let list = |targets: &[String]| serde_json::to_string(targets).expect("a list");
        let configuration = replace_all(
            read("prometheus.yaml"),
            &[
                (PROXIES, &list(proxies)),
                (SERVICES, &list(services)),
                ("scrape_interval: 15s", "scrape_interval: 1s"),
            ],
        );
        let folder = tempfile::tempdir().expect("a temporary folder");
        write(&folder.path().join("prometheus.yaml"), &configuration);
        write(&folder.path().join("rules.yaml"), &read("rules.yaml"));
        let address = format!("127.0.0.1:{}", port::free());
        let mut command = Command::new(Part::Prometheus.path());
        command
            .current_dir(folder.path())
            .args(["--config.file=prometheus.yaml", "--storage.tsdb.path=data"])
            .arg(format!("--web.listen-address={address}"));
        let mut process = Process::start("prometheus", folder.path(), &mut command);
        let ready = format!("http://{address}/-/ready");
        process.wait_for(START, "Prometheus is ready", || {
            let answer = http::try_send("GET", &ready, &[]).map_err(|error| error.to_string())?;
            (answer.status == 200).then_some(()).ok_or(answer.body)
        });
        Self {
            address,
            _process: process,
            _folder: folder,
        }
    }

    /// The samples of a query, now.
    ///
    /// # Panics
    /// When Prometheus refuses the query.
    #[track_caller]
    pub(crate) fn query(&self, query: &str) -> Vec<Sample> {
        let data = self.get("query", &[("query", query)]);
        let result = data["result"].as_array().expect("samples");
        let sample = |sample: &Value| Sample {
            labels: sample["metric"].clone(),
            value: sample["value"][1]
                .as_str()
                .and_then(|value| value.parse().ok())
                .expect("a number"),
        };
        result.iter().map(sample).collect()
    }

    /// The series of a query over some time that ends now, each with its samples.
    ///
    /// # Panics
    /// When Prometheus refuses the query.
    #[track_caller]
    pub(crate) fn range(&self, query: &str, [from, to]: [u64; 2]) -> Value {
        let [from, to] = [from, to].map(|time| time.to_string());
        let arguments = [("query", query), ("start", &from), ("end", &to), ("step", "1")];
        self.get("query_range", &arguments)["result"].clone()
    }

    /// The alerts of the rules that it has loaded: the name and the query of each.
    #[track_caller]
    pub(crate) fn alerts(&self) -> Vec<(String, String)> {
        let data = self.get("rules", &[]);
        let groups = data["groups"].as_array().expect("groups");
        let rules = groups
            .iter()
            .flat_map(|group| group["rules"].as_array().expect("rules"));
        let text = |rule: &Value, key: &str| rule[key].as_str().expect("a text").to_owned();
        rules.map(|rule| (text(rule, "name"), text(rule, "query"))).collect()
    }

    #[track_caller]
    fn get(&self, path: &str, arguments: &[(&str, &str)]) -> Value {
        let encode = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
        let pairs = arguments
            .iter()
            .map(|(name, value)| format!("{name}={}", encode(value)));
        let arguments = pairs.collect::<Vec<_>>().join("&");
        let body = http::get(&format!("http://{}/api/v1/{path}?{arguments}", self.address)).body;
        let answer: Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"));
        assert_eq!(answer["status"], "success", "{body}");
        answer["data"].clone()
    }
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).expect("a file of Prometheus");
}
