//! `make deploy` and `make undeploy` on a real API server with Istio's CRDs, and without a kubelet.

use std::{
    fs,
    io::Write as _,
    process::{Command, Output, Stdio},
};

use burst_testkit::{ControlPlane, Istiod, Part, repository};
use tempfile::TempDir;

const IMAGE: &str = "IMAGE=registry.example.org/burst-metrics:1.2.3";
const DIGEST: &str = "DIGEST=sha256:1111111111111111111111111111111111111111111111111111111111111111";
const OTHER_DIGEST: &str = "DIGEST=sha256:2222222222222222222222222222222222222222222222222222222222222222";

/// A user with kubectl. `burstctl` stands for the command that runs instead of burstctl.
struct User {
    cluster: ControlPlane,
    folder: TempDir,
}

impl User {
    fn new() -> Self {
        let cluster = ControlPlane::start();
        Istiod::create_crds(&cluster);
        cluster.apply("{apiVersion: v1, kind: Namespace, metadata: {name: istio-system}}");
        Self {
            cluster,
            folder: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    /// Runs make, with `input` as what the user types.
    fn make(&self, arguments: &[&str], input: &str) -> (bool, String) {
        self.make_with("echo the arguments of burstctl:", arguments, input)
    }

    fn make_with(&self, burstctl: &str, arguments: &[&str], input: &str) -> (bool, String) {
        let kubectl = Part::Kubectl.path();
        let tools = kubectl.parent().expect("a folder").display().to_string();
        let path = std::env::var("PATH").expect("PATH");
        let mut make = Command::new("make")
            .args(["--no-print-directory", "--silent"])
            .args(arguments)
            .current_dir(repository())
            .env("PATH", format!("{tools}:{path}"))
            .env("KUBECONFIG", self.cluster.kubeconfig())
            .env("KUBECACHEDIR", self.folder.path())
            .env("BURSTCTL", burstctl)
            .env("DEPLOY_TIMEOUT", "1s")
            .env_remove("MAKEFLAGS")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("make starts");
        let mut stdin = make.stdin.take().expect("a pipe");
        // A script that asks nothing may be gone already.
        drop(stdin.write_all(input.as_bytes()));
        drop(stdin);
        let Output { status, stdout, stderr } = make.wait_with_output().expect("make ends");
        let text = [stdout, stderr].concat();
        (status.success(), String::from_utf8(text).expect("UTF-8"))
    }

    fn has(&self, object: &str) -> bool {
        let found = [
            "get",
            object,
            "--namespace=istio-system",
            "--ignore-not-found",
            "--output=name",
        ];
        !self.cluster.kubectl(&found).is_empty()
    }
}

#[track_caller]
fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

#[test]
fn deploy_shows_the_changes_and_asks_before_it_makes_them() {
    let user = User::new();
    let deploy = ["deploy", IMAGE, DIGEST];
    for (answer, is_applied) in [("", false), ("n\n", false), ("y\n", true)] {
        let (_, text) = user.make(&deploy, answer);
        assert_contains(
            &text,
            &[
                "the set own-gateway for the context test (https://127.0.0.1:",
                "the namespace burst-metrics is new",
                "deployment.apps/burst-gateway created (server dry run)",
                "wasmplugin.extensions.istio.io/burst-metrics created (server dry run)",
            ],
        );
        assert_eq!(text.contains("nothing was changed"), !is_applied, "{text}");
        assert_eq!(user.has("namespace/burst-metrics"), is_applied, "{text}");
    }
    // Nothing here starts the gateway's pod.
    let (success, text) = user.make(&deploy, "y\n");
    assert!(!success);
    assert_contains(
        &text,
        &["the set is applied, but its gateway is not ready; make undeploy removes it"],
    );
}

#[test]
fn deploy_of_a_gateway_that_serves_warns_and_ends_with_doctor() {
    let user = User::new();
    let deploy =
        |burstctl, digest| user.make_with(burstctl, &["deploy", "SET=gateway", "CONTEXT=test", IMAGE, digest], "");
    let (before, after) = ("1".repeat(64), "2".repeat(64));
    let (success, text) = deploy("echo the arguments of burstctl:", DIGEST);
    assert!(success, "{text}");
    let doctor =
        "the arguments of burstctl: doctor --context test --namespace istio-system --selector istio=ingressgateway";
    assert_contains(&text, &["they answer 403 to every request", doctor]);
    let plugin = ["get", "wasmplugin", "burst-metrics", "--namespace=istio-system"];
    let image = ["--output=jsonpath={.spec.url} {.spec.sha256}"];
    let image = user.cluster.kubectl(&[&plugin[..], &image].concat());
    assert_eq!(
        image,
        format!("oci://registry.example.org/burst-metrics:1.2.3 {before}")
    );

    // What doctor finds is the result of the recipe.
    let (success, text) = deploy("false", OTHER_DIGEST);
    assert!(!success, "{text}");
    assert_contains(
        &text,
        &[
            &format!("-  sha256: \"{before}\""),
            &format!("+  sha256: \"{after}\""),
            "the set is applied, but burstctl doctor found the problems above",
        ],
    );

    let (success, text) = user.make(&["undeploy", "SET=gateway"], "");
    assert!(!success && user.has("wasmplugin/burst-metrics"), "{text}");
    assert_contains(&text, &["\"burst-metrics\" deleted", "nothing was changed"]);
    let (success, text) = user.make(&["undeploy", "SET=gateway", "CONTEXT=test"], "");
    assert!(success && !user.has("wasmplugin/burst-metrics"), "{text}");
}

#[test]
fn undeploy_keeps_the_policies_of_the_users() {
    let user = User::new();
    // `make` checks its arguments before it sends a request to the cluster.
    for (arguments, message) in [
        (
            &["deploy"][..],
            "usage: make deploy IMAGE=registry/name:tag DIGEST=sha256:…",
        ),
        (
            &["deploy", IMAGE, &DIGEST[..DIGEST.len() - 1]],
            "is not sha256: with 64 hexadecimal digits",
        ),
        (
            &["deploy", "IMAGE=a/b:c", "DIGEST=latest"],
            "DIGEST=latest is not sha256: with 64 hexadecimal digits",
        ),
        (
            &["deploy", "SET=base"],
            "there is no set base; use SET= with one of: gateway-elsewhere ",
        ),
        (&["undeploy", "CONTEXT=elsewhere"], "cannot locate context elsewhere"),
    ] {
        let (success, text) = user.make(arguments, "y\n");
        assert!(!success, "{text}");
        assert_contains(&text, &[message]);
    }

    let definition = repository().join("istio/metrics-apis/policies.yaml");
    user.cluster.apply(&fs::read_to_string(definition).expect("a file"));
    let (success, text) = user.make(&["undeploy", "SET=metrics-apis", "CONTEXT=test"], "");
    assert!(success, "{text}");
    assert_contains(&text, &["the CustomResourceDefinition and its objects stay"]);
    assert!(user.has("crd/externalmetricpolicies.burstmetrics.dev"));
    assert!(!user.has("clusterrole/burst-metrics-policies"));
}
