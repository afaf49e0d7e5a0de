//! A workload kind of a CustomResourceDefinition that is configured before the definition exists.

use burst_testkit::{ControlPlane, port};

use crate::{
    account::apply_shipped_role,
    gateway::{Gateway, SOON},
    sample,
};

/// The header of the Service behind [`ROLLOUT`].
const HEADER: &str = "service=data/queue-workers, current-load=3, target-load=3, max-load=4";

const WORKLOADS: &str = r#""workloads": [
    {"group": "apps", "version": "v1", "resource": "deployments", "kind": "Deployment"},
    {"group": "argoproj.io", "version": "v1alpha1", "resource": "rollouts", "kind": "Rollout"}
]"#;

/// The rule that `istio/base/rbac.yaml` tells an operator to add.
pub(crate) const ROLE: &str = r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: rollouts}
rules: [{apiGroups: [argoproj.io], resources: [rollouts], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: rollouts}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: rollouts}
subjects: [{kind: ServiceAccount, name: istio-ingressgateway, namespace: istio-system}]
"#;

const DEFINITION: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: rollouts.argoproj.io
spec:
  group: argoproj.io
  scope: Namespaced
  names: {plural: rollouts, singular: rollout, kind: Rollout, listKind: RolloutList}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"#;

const ROLLOUT: &str = r#"
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: queue-workers, namespace: data}
spec:
  replicas: 2
  selector: {matchLabels: {app: queue}}
  template:
    metadata: {labels: {app: queue, via: rollout}}
    spec: {containers: [{name: app, image: app}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: queue-workers, namespace: data}
spec:
  scaleTargetRef: {apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: queue-workers}
  maxReplicas: 4
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
"#;

#[test]
fn a_custom_kind_is_served_once_its_definition_and_its_objects_exist() {
    let cluster = ControlPlane::start();
    let mount = apply_shipped_role(&cluster).mount(&cluster);
    sample::create_with_status(&cluster);
    let gateway = Gateway::new(&cluster, &mount, WORKLOADS);

    // An API server checks the role before it looks up the kind.
    let advice = "; give the proxy's ServiceAccount a ClusterRole with the verb list on rollouts.argoproj.io";
    gateway.envoy.wait_for_log(SOON, advice);
    gateway.wait_for_burst("services", 200);
    let refused = gateway.burst("rollouts");
    assert_eq!(
        (refused.status, refused.body.as_str()),
        (
            503,
            "not readable: the Kubernetes API does not list rollouts.argoproj.io\n"
        ),
        "what may not be read is not said to be absent"
    );

    cluster.apply(ROLE);
    gateway.wait_for_burst("rollouts", 204);
    gateway.envoy.wait_for_log(
        SOON,
        "cannot list rollouts.argoproj.io: 404 Not Found: 404 page not found",
    );
    assert_eq!(gateway.header("queue.data"), None);

    cluster.apply(DEFINITION);
    cluster.wait_for_crds();
    cluster.apply(ROLLOUT);
    sample::set_current_replicas(&cluster, "data", "queue-workers", 3);
    gateway.wait_for_header("queue.data", Some(HEADER));
    assert_eq!(gateway.burst("rollouts/data/queue-workers").body, HEADER);
    gateway
        .envoy
        .wait_for_log(SOON, "listing rollouts.argoproj.io works again");

    cluster.kubectl(&["delete", "crd", "rollouts.argoproj.io"]);
    gateway.wait_for_header("queue.data", None);
    assert_eq!(gateway.burst("rollouts").status, 204);
}

#[test]
fn a_custom_kind_whose_conversion_webhook_is_down_is_excluded_and_the_others_stay_current() {
    let cluster = ControlPlane::start();
    let mount = apply_shipped_role(&cluster).mount(&cluster);
    sample::create_with_status(&cluster);
    let newer = "- {name: v1, served: true, storage: true, schema: \
                 {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}\n";
    let stored_as_v1 = DEFINITION.replace("storage: true", "storage: false") + "  " + newer;
    cluster.apply(&stored_as_v1);
    cluster.apply(&ROLE.replace("[list]", "[list, watch]"));
    cluster.wait_for_crds();
    cluster.apply(ROLLOUT);
    sample::set_current_replicas(&cluster, "data", "queue-workers", 3);
    // Streams need a `max_staleness` of 30 s.
    let gateways = [("in windows", "15s"), ("by streams", "30s")].map(|(mode, max_staleness)| {
        let keys = format!(r#"{WORKLOADS}, "max_staleness": "{max_staleness}""#);
        let gateway = Gateway::new(&cluster, &mount, &keys);
        gateway.wait_for_header("queue.data", Some(HEADER));
        gateway.wait_for_main_thread();
        (mode, gateway)
    });
    gateways[1].1.wait_for_streams();

    let convert_by = |conversion: &str| {
        let patch = format!(r#"{{"spec":{{"conversion":{conversion}}}}}"#);
        cluster.kubectl(&[
            "patch",
            "crd",
            "rollouts.argoproj.io",
            "--type=merge",
            "--patch",
            &patch,
        ]);
    };
    let closed = format!("https://127.0.0.1:{}/", port::free());
    convert_by(&format!(
        r#"{{"strategy":"Webhook","webhook":{{"conversionReviewVersions":["v1"],"clientConfig":{{"url":"{closed}"}}}}}}"#
    ));
    for (mode, gateway) in &gateways {
        gateway.wait_for_gauge("burst_unreadable_rollouts", 1);
        gateway.wait_for_header("queue.data", None);
        let excluded = "cannot list rollouts.argoproj.io, while other lists work";
        gateway.envoy.wait_for_log(SOON, excluded);
        // The whole snapshot may have been stale until then (docs/freshness.md), and a worker checks once a second.
        gateway.wait_for_replicas(1);
        assert_eq!(
            gateway.burst("rollouts").status,
            503,
            "{mode}: and not that there are none"
        );
    }

    convert_by(r#"{"strategy":"None","webhook":null}"#);
    for (_, gateway) in &gateways {
        gateway.wait_for_header("queue.data", Some(HEADER));
        gateway.wait_until_current(&cluster, WORKLOADS);
    }
}
