//! Releases of the chart on a real API server: install, upgrade, roll back and uninstall, and what a gateway does with them.

use std::{collections::BTreeSet, fs, net::Ipv4Addr, path::Path, process::Command, time::Duration};

use burst_testkit::{ControlPlane, Envoy, Istiod, Node, Part, Version, http::Answer, port, repository, wait, wasm};
use serde_json::{Value, json};

use crate::{
    gateway::PUBLIC,
    helm::{self, EXAMPLES, Example, Helm},
    mesh::{Ingress, Mesh, SOME, open_gateway},
    metrics_apis::API_SERVERS,
    routes,
    shipped::{self, Pod},
    shop::WEB,
};

/// A controller of the API server may need a moment for a kind that is gone.
const SOON: Duration = Duration::from_secs(120);

/// Kinds of which the API server itself creates and renews objects.
const VOLATILE: [&str; 3] = ["events", "events.events.k8s.io", "leases.coordination.k8s.io"];

/// A control plane with Istio's kinds and the namespaces of the examples.
fn cluster() -> ControlPlane {
    let cluster = ControlPlane::start();
    Istiod::create_crds(&cluster);
    for namespace in ["istio-system", "istio-ingress", "shop", "data", "burst-metrics", "edge"] {
        cluster.kubectl(&["create", "namespace", namespace]);
    }
    cluster
}

#[test]
fn the_api_server_accepts_every_example() {
    let cluster = cluster();
    let helm = Helm::offline();
    for example in EXAMPLES {
        let text = helm.run(&example.arguments("template"));
        let accepted = cluster.kubectl_with(&["apply", "--dry-run=server", "--output=name", "--filename=-"], &text);
        assert_eq!(accepted.lines().count(), helm.render(example, &[]).len(), "{example:?}");
    }
}

#[test]
fn uninstall_leaves_nothing_behind_but_the_kind_of_the_policies() {
    let cluster = cluster();
    let helm = Helm::of(&cluster);
    for file in ["own-gateway", "header-only", "waypoint"] {
        let example = Example::named(file);
        let before = everything(&cluster).expect("every kind");
        assert_notes(&helm.run(&example.arguments("install")), example);
        let installed = everything(&cluster).expect("every kind");
        assert!(installed.len() > before.len() + 3, "{file}");
        let mut upgrade = example.arguments("upgrade");
        upgrade.extend(["--set", "config.target_percent=40"].map(str::to_owned));
        helm.run(&upgrade);
        assert_eq!(target_percent(&cluster, example), "40", "{file}");
        helm.run(&["rollback", example.release, "1", "--namespace", example.namespace]);
        assert_eq!(target_percent(&cluster, example), "", "{file}");
        helm.run(&["uninstall", example.release, "--namespace", example.namespace]);
        wait_for(&cluster, &before, file);
    }
}

/// NOTES.txt says what to check, and warns of what Istio's agent does.
fn assert_notes(printed: &str, example: Example) {
    let (preview, check) = match example.file {
        "own-gateway" => (
            "\n  burstctl preview\n",
            "\n  burstctl doctor --namespace burst-metrics --selector istio=burst-gateway\n",
        ),
        "header-only" => (
            "\n  burstctl preview --namespace shop\n",
            "\n  burstctl doctor --namespace istio-system --selector istio=ingressgateway\n",
        ),
        _ => (
            "\n  burstctl preview --namespace shop\n",
            "\n  kubectl exec --namespace shop POD -c istio-proxy -- ",
        ),
    };
    if example.file == "own-gateway" {
        let readme = fs::read_to_string(helm::chart().join("README.md")).expect("a file");
        let (_, notes) = printed.split_once("NOTES:\n").expect("notes");
        assert!(readme.contains(notes.trim()), "not in the README:\n{notes}");
    }
    for part in [preview, check, "these proxies answer 403 to every request"] {
        assert!(printed.contains(part), "{part:?} is not in:\n{printed}");
    }
}

fn target_percent(cluster: &ControlPlane, Example { release, namespace, .. }: Example) -> String {
    let percent = "--output=jsonpath={.spec.pluginConfig.target_percent}";
    cluster.kubectl(&["get", "wasmplugin", release, "--namespace", namespace, percent])
}

#[test]
fn an_upgrade_of_the_metrics_apis_keeps_what_the_scripts_wrote() {
    let cluster = cluster();
    let helm = Helm::of(&cluster);
    cluster.apply(API_SERVERS);
    let example = Example {
        namespace: SCRIPTS_NAMESPACE,
        ..Example::named("metrics-apis")
    };
    let before = everything(&cluster).expect("every kind");
    let notes = helm.run(&example.arguments("install"));
    for script in ["certificate.sh", "copy-ca.sh", "network-policy.sh"] {
        assert!(notes.contains(&format!("istio/metrics-apis/{script}")), "{notes}");
        run_script(&cluster, script);
    }
    let written = written(&cluster);
    assert!(written.iter().all(|text| !text.is_empty()), "{written:?}");
    assert!(written[0].contains("192.0.2.10/32"), "{written:?}");
    let mut upgrade = example.arguments("upgrade");
    upgrade.extend(["--set", "config.target_percent=40"].map(str::to_owned));
    helm.run(&upgrade);
    assert_eq!(self::written(&cluster), written);

    helm.run(&["uninstall", example.release, "--namespace", example.namespace]);
    // The Secret with the certificate is the script's.
    cluster.kubectl(&[
        "delete",
        "secret",
        "burst-metrics-apis",
        "--namespace",
        SCRIPTS_NAMESPACE,
    ]);
    let mut kept = before;
    kept.insert("CustomResourceDefinition /externalmetricpolicies.burstmetrics.dev".into());
    kept.insert("APIService /v1alpha1.burstmetrics.dev".into());
    wait_for(&cluster, &kept, "metrics-apis");

    // The release owns the kind that it kept. Of the two groups it serves only one here.
    cluster.apply(OTHER_ADAPTER);
    let mut install = example.arguments("install");
    install.extend(["--set", "metricsApis.groups={external.metrics.k8s.io}"].map(str::to_owned));
    helm.run(&install);
    run_script(&cluster, "certificate.sh");
    let authority = |api| cluster.kubectl(&["get", "apiservice", api, "--output=jsonpath={.spec.caBundle}"]);
    assert_eq!(authority("v1beta2.custom.metrics.k8s.io"), "");
    assert!(!authority("v1beta1.external.metrics.k8s.io").is_empty());
}

/// A group that another server has.
const OTHER_ADAPTER: &str = "
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta2.custom.metrics.k8s.io}
spec:
  group: custom.metrics.k8s.io
  version: v1beta2
  groupPriorityMinimum: 100
  versionPriority: 200
  insecureSkipTLSVerify: true
  service: {name: prometheus-adapter, namespace: shop}
";

/// Another namespace than the one that the scripts have by default.
const SCRIPTS_NAMESPACE: &str = "istio-ingress";

/// Runs a script of `istio/metrics-apis` as the user would.
fn run_script(cluster: &ControlPlane, script: &str) {
    let kubectl = Part::Kubectl.path();
    let path = std::env::var("PATH").expect("PATH");
    let tools = kubectl.parent().unwrap_or(Path::new("/"));
    let output = Command::new(repository().join("istio/metrics-apis").join(script))
        .env("PATH", format!("{}:{path}", tools.display()))
        .env("KUBECONFIG", cluster.kubeconfig())
        .env("NAMESPACE", SCRIPTS_NAMESPACE)
        .output()
        .expect("the script starts");
    assert!(
        output.status.success(),
        "{script}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The addresses of the API servers, the listener's authority and the API server's authority.
fn written(cluster: &ControlPlane) -> [String; 3] {
    [
        ["networkpolicy/burst-metrics-apis", "{.spec.ingress[0].from}"],
        ["apiservice/v1beta1.external.metrics.k8s.io", "{.spec.caBundle}"],
        ["secret/burst-metrics-apis-cacert", "{.data}"],
    ]
    .map(|[object, path]| {
        let path = format!("--output=jsonpath={path}");
        cluster.kubectl(&["get", object, "--namespace", SCRIPTS_NAMESPACE, &path])
    })
}

/// Kind, namespace and name of every object of the cluster.
fn everything(cluster: &ControlPlane) -> Result<BTreeSet<String>, String> {
    let kinds = cluster.try_kubectl(
        &["api-resources", "--verbs=list", "--output=name", "--cached=false"],
        "",
    )?;
    let kinds: Vec<_> = kinds.lines().filter(|kind| !VOLATILE.contains(kind)).collect();
    let line = "--output=jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name}{'\\n'}{end}";
    let listed = cluster.try_kubectl(&["get", &kinds.join(","), "--all-namespaces", line], "")?;
    Ok(listed.lines().map(str::to_owned).collect())
}

/// Waits until the cluster has these objects and no others.
fn wait_for(cluster: &ControlPlane, objects: &BTreeSet<String>, what: &str) {
    wait::for_ok(SOON, &format!("nothing of {what}"), || {
        let found = everything(cluster)?;
        let difference: Vec<_> = found.symmetric_difference(objects).collect();
        difference
            .is_empty()
            .then_some(())
            .ok_or_else(|| format!("{difference:?}"))
    });
}

#[test]
fn a_release_adds_the_header_at_its_own_gateway_and_no_other() {
    let mesh = Mesh::start();
    mesh.cluster.kubectl(&["create", "namespace", "burst-metrics"]);
    let own = mesh.gateway(Version::Tested, "burst-gateway", "burst-metrics", open_gateway);
    let ingress = mesh.ingress(Version::Tested);
    let both = routes::VIRTUAL_SERVICE.replace("[istio-system/public]", "[istio-system/public, burst-metrics/public]");
    mesh.cluster.apply(&both);

    let example = Example::named("own-gateway");
    let release = Release::install(&mesh.cluster, example, "burst-gateway");
    own.wait_for_header(PUBLIC, "/", Some(WEB));
    ingress.wait_for_header(PUBLIC, "/", None);
    let single = own.get("burst-gateway.burst-metrics.svc", "/burstmetrics/services/shop/web");
    assert_eq!(
        single.map(|Answer { status, body, .. }| (status, body)),
        Ok((200, WEB.to_owned()))
    );

    let traffic = own.traffic(PUBLIC).start();
    release.upgrade("config.target_percent=40");
    own.wait_for_header(PUBLIC, "/", Some(&WEB.replace("target-load=4", "target-load=2")));
    release.uninstall();
    own.wait_for_header(PUBLIC, "/", None);
    traffic.wait_for_more(SOME);
    traffic.stop();
    ingress.wait_for_header(PUBLIC, "/", None);
}

/// The address of the gateway's pod in istiod.
const EDGE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 7);

#[test]
fn a_release_for_a_gateway_of_the_gateway_api_reaches_the_pods_with_its_name() {
    let mesh = Mesh::start();
    mesh.cluster.kubectl(&["create", "namespace", "edge"]);
    let labels = json!({"gateway.networking.k8s.io/gateway-name": "edge"});
    let port = port::free();
    let listens = json!({
        "apiVersion": "networking.istio.io/v1",
        "kind": "Gateway",
        "metadata": {"name": "public", "namespace": "edge"},
        "spec": {"selector": labels, "servers": [
            {"port": {"number": port, "name": "http", "protocol": "HTTP"}, "bind": "127.0.0.1", "hosts": ["*"]},
        ]},
    });
    mesh.cluster.apply(&listens.to_string());
    mesh.cluster
        .apply(&routes::VIRTUAL_SERVICE.replace("[istio-system/public]", "[edge/public]"));
    let node = Node::gateway("edge", "edge", &labels).at(EDGE);
    let edge = Ingress {
        envoy: Envoy::of(Version::Tested)
            .workers(2)
            .start(&mesh.istiod.bootstrap(&node)),
        url: format!("http://127.0.0.1:{port}"),
    };

    let release = Release::install(&mesh.cluster, Example::named("gateway-api"), "edge-istio");
    edge.wait_for_header(PUBLIC, "/", Some(WEB));
    let internal = "edge-istio.edge.svc.cluster.local";
    let single = edge.get(internal, "/burstmetrics/services/shop/web");
    assert_eq!(
        single.map(|answer| (answer.status, answer.body)),
        Ok((200, WEB.to_owned()))
    );
    // The lock is for this gateway too: it refuses a client whose network is not allowed.
    release.upgrade("allowedNetworks={203.0.113.0/24}");
    edge.wait_for_every(
        internal,
        "/burstmetrics/services/shop/web",
        "the lock refuses",
        |answer| answer.status == 403,
    );
    release.uninstall();
    edge.wait_for_header(PUBLIC, "/", None);
}

/// A release whose proxies are Envoys of the test.
struct Release<'a> {
    cluster: &'a ControlPlane,
    helm: Helm,
    example: Example,
    pod: Pod,
}

impl<'a> Release<'a> {
    /// Installs the chart, for proxies with that ServiceAccount.
    #[track_caller]
    fn install(cluster: &'a ControlPlane, example: Example, account: &str) -> Self {
        let helm = Helm::of(cluster);
        helm.run(&Self::arguments("install", example));
        let pod = Pod::new(cluster, account, example.namespace);
        let release = Self {
            cluster,
            helm,
            example,
            pod,
        };
        release.reach_the_api_server();
        release
    }

    #[track_caller]
    fn upgrade(&self, values: &str) {
        let mut arguments = Self::arguments("upgrade", self.example);
        // The test has changed an object of the release.
        arguments.extend(["--force-conflicts", "--set", values].map(str::to_owned));
        self.helm.run(&arguments);
        self.reach_the_api_server();
    }

    #[track_caller]
    fn uninstall(&self) {
        let Example { release, namespace, .. } = self.example;
        self.helm.run(&["uninstall", release, "--namespace", namespace]);
    }

    /// Only Istio's agent can fetch an image, so an Envoy without the agent gets the module as a file.
    fn arguments(command: &str, example: Example) -> Vec<String> {
        let mut arguments = example.arguments(command);
        let module = format!("image.url=file://{}", wasm("burst-metrics.wasm").display());
        arguments.extend(["--set", &module, "--set", "image.repository=,image.digest="].map(str::to_owned));
        arguments
    }

    /// Gives the installed cluster of the Kubernetes API the address and the files of the test.
    #[track_caller]
    fn reach_the_api_server(&self) {
        let Example { release, namespace, .. } = self.example;
        let name = format!("{release}-kube-api");
        let get = ["get", "envoyfilter", &name, "--namespace", namespace, "--output=json"];
        let mut filter: Value = serde_json::from_str(&self.cluster.kubectl(&get)).expect("JSON");
        shipped::adapt(&mut filter, &wasm("burst-metrics.wasm"), &self.pod);
        self.cluster
            .kubectl_with(&["replace", "--filename=-"], &filter.to_string());
    }
}
