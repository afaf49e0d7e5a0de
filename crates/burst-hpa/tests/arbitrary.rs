//! Arbitrary input never causes a panic.

use burst_hpa::{Node, NodeValue, Objects, Options, admit, defaulted, lint_among, migrate, validate};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use proptest::prelude::*;

fn node() -> impl Strategy<Value = Node> {
    let name = prop_oneof![
        any::<String>(),
        "metadata|spec|status|metrics|type|target|name|behavior|scaleUp|policies|value|selector|matchLabels",
    ];
    let leaf = prop_oneof![
        Just(Node::NULL),
        any::<bool>().prop_map(|value| NodeValue::Bool(value).into()),
        any::<String>().prop_map(Node::number),
        any::<f64>().prop_map(|number| Node::number(number.to_string())),
        any::<String>().prop_map(Node::string),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Node::list),
            prop::collection::vec((name.clone(), inner), 0..6).prop_map(Node::object),
        ]
    })
}

proptest! {
    #[test]
    fn any_node_is_admitted_or_refused(node in node()) {
        let _ = admit(&node, Options::default());
    }

    #[test]
    fn any_bytes_are_json_or_refused(bytes in any::<Vec<u8>>()) {
        if let Ok(node) = Node::from_json(&String::from_utf8_lossy(&bytes)) {
            let _ = admit(&node, Options::default());
        }
    }

    #[test]
    fn any_json_of_the_types_is_validated(value in any::<i32>(), text in any::<String>()) {
        let json = serde_json::json!({"metadata": {"name": text, "labels": {&text: &text}, "annotations": {&text: &text}},
            "spec": {"maxReplicas": value, "minReplicas": value, "scaleTargetRef": {"kind": text, "name": text, "apiVersion": text},
                "metrics": [{"type": text, "containerResource": {"name": text, "container": text, "target": {"type": text, "averageValue": text}}}],
                "behavior": {"scaleUp": {"tolerance": text, "policies": [{"type": text, "value": value, "periodSeconds": value}]}}}});
        let hpa: HorizontalPodAutoscaler = serde_json::from_value(json).unwrap();
        let _ = validate(&defaulted(hpa, Options::default()), Options::default());
    }
}

proptest! {
    #[test]
    fn any_hpa_among_any_objects_is_linted(spec in node(), other in node(), value in any::<i32>(), text in any::<String>()) {
        let json = serde_json::json!({"spec": {"maxReplicas": value, "minReplicas": value / 2, "scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"},
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": text, "averageUtilization": value}}},
                        {"type": "Object", "object": {"metric": {"selector": {"matchLabels": {&text: &text}}}, "target": {"type": text, "value": text}}}],
            "behavior": {"scaleDown": {"tolerance": text, "policies": [{"type": "Percent", "value": value, "periodSeconds": value}, {"type": text, "value": value, "periodSeconds": 15}]}}}});
        let hpa: HorizontalPodAutoscaler = serde_json::from_value(json).unwrap();
        let mut objects = Objects::default();
        for (api_version, kind) in [("apps/v1", "Deployment"), ("policy/v1", "PodDisruptionBudget"), ("v1", "LimitRange"), ("keda.sh/v1", "ScaledObject")] {
            let _ = objects.insert(serde_json::json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "web"}, "spec": spec.to_json()}));
        }
        let _ = objects.insert(other.to_json());
        let container = serde_json::json!({"name": text, "resources": {"requests": {"cpu": text}, "limits": {"cpu": "9E"}}});
        objects.insert(serde_json::json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"selector": {}, "template": {"spec": {"containers": [container]}}}})).unwrap();
        let _ = lint_among(&hpa, &objects, Options::default());
    }

    #[test]
    fn any_node_is_migrated_or_refused(node in node(), version in "v1|v2beta1|v2beta2") {
        let texts = [("kind", "HorizontalPodAutoscaler".to_owned()), ("apiVersion", format!("autoscaling/{version}"))];
        let mut fields: Vec<_> = texts.map(|(name, text)| (name, Node::string(text))).into();
        fields.push(("spec", node.clone()));
        fields.push(("metadata", node));
        let migration = migrate(&Node::object(fields)).unwrap();
        let _ = admit(&migration.document, Options::default());
    }
}

#[test]
fn deep_nesting_is_refused_without_recursion() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    assert_eq!(
        Node::from_json(&deep).unwrap_err().to_string(),
        "nested deeper than 96 levels"
    );
}
