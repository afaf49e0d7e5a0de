//! Invalid values, and the schema of the values.

use super::*;

#[test]
fn a_wrong_value_is_reported_with_its_position() {
    for (values, position, words) in [
        ("labls: {a: b}\n", "3:1", "unknown field `labls`"),
        ("proxy: waypoint\n", "3:8", "unknown variant `waypoint`"),
        (
            "namespace: Shop\n",
            "3:12",
            "\"Shop\" is not a namespace: a lowercase RFC 1123 label must ",
        ),
        ("labels: {}\n", "3:1", "every proxy of the namespace"),
        (
            "labels: {app: a b}\n",
            "3:15",
            "\"a b\" is not valid in a label: a valid label must be an empty string or ",
        ),
        (
            "labels: {a.b/: c}\n",
            "3:16",
            "the key \"a.b/\" is not valid in a label: ",
        ),
        (
            "namespace: edge.one\n",
            "3:12",
            "\"edge.one\" is not a namespace: must not contain dots",
        ),
        ("proxy: sidecar\n", "1:1", "there is no default namespace for sidecars"),
        (
            "proxy: sidecar\nnamespace: shop\nservice: web\n",
            "5:10",
            "applies only to a gateway",
        ),
        ("namespaces: []\n", "3:1", "if it is not set, it is all of them"),
        ("namespaces: [shop, 'a b']\n", "3:20", "is not a DNS-1123 subdomain"),
        (
            "config:\n  poll_interval: 200ms\n",
            "4:18",
            "200ms is below the least allowed, 1s",
        ),
        ("config:\n  header:\n    nmae: x\n", "5:5", "unknown field `nmae`"),
        ("config: {target_percent: high}\n", "3:26", "invalid type: string"),
        ("config: {namespaces: [shop]}\n", "3:10", "gives the role as well"),
        (
            "config: {source: hub}\n",
            "3:18",
            "for a filter that reads the Kubernetes API",
        ),
        (
            "workloads: [{group: apps, version: v1, resource: x, kind: X, plural: x}]\n",
            "3:62",
            "unknown field `plural`",
        ),
        (
            "allowedNetworks: []\n",
            "3:1",
            "which allows no network; if it is not set, every private network is allowed",
        ),
        (
            "allowedNetworks: [10.0.0.0/33]\n",
            "3:19",
            "\"10.0.0.0/33\" is not a network",
        ),
        ("allowedNetworks: ['::', a]\n", "3:25", "\"a\" is not a network"),
        ("clusterDomain: ''\n", "3:16", "is not a DNS-1123 subdomain"),
        ("name: a\nname: b\n", "4:1", "written twice"),
    ] {
        let message = refused(&format!("# values\n{MODULE}{values}"));
        let position = position.replacen("1:1", "2:1", 1);
        assert!(
            message.contains(&format!("--> <stdin>:{position} ")) && message.contains(words),
            "{values}{message}"
        );
    }
    assert!(refused("proxy: gateway\n").contains("missing field `module`"));
    let message = refused("- module: {url: 'file:///b.wasm'}\n");
    assert!(
        message.contains("expected an object: keys, each with its value"),
        "{message}"
    );
    let message = refused("module:\n  image: r/b\n  digest: 12\n");
    assert!(message.contains("--> <stdin>:3:11 "), "{message}");
    for (values, outcome) in [
        ("a: [\n", Outcome::Incomplete),
        ("", Outcome::Incomplete),
        ("a: 1\n---\na: 2\n", Outcome::Incomplete),
    ] {
        assert_eq!(
            burstctl(&["istio", "render", "--values", "-"], values).0,
            outcome,
            "{values}"
        );
    }
}

#[test]
fn the_schema_accepts_what_render_accepts() {
    let (outcome, out, _) = burstctl(&["istio", "render", "--schema"], "");
    assert_eq!((outcome, out.as_str()), (Outcome::Success, SCHEMA));
    let schema = jsonschema::validator_for(&serde_json::from_str(SCHEMA).unwrap()).unwrap();
    let json = |text: &str| documents(text).remove(0).content.unwrap().to_json();
    let example = json(EXAMPLE);
    let errors: Vec<_> = schema.iter_errors(&example).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let known: Value = serde_json::from_str(SCHEMA).unwrap();
    let keys = |object: &Value| object.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        keys(&known["properties"]),
        keys(&example),
        "the example shows every key"
    );
    for wrong in [
        "proxy: gateway\n",
        "module: {image: a}\n",
        "labels: {app: a b}\nmodule: {url: 'file:///b'}\n",
        "labls: {}\nmodule: {url: 'file:///b'}\n",
    ] {
        assert!(!schema.is_valid(&json(wrong)), "{wrong}");
        refused(wrong);
    }
}
