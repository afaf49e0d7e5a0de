//! Random policies and HPAs. They use few names, so that policies often match HPAs.

use burst_policy::Policy;
use fastrand::Rng;
use serde_json::{Value, json};

/// The root namespace, whose policies apply to every namespace.
pub(crate) const ROOT: &str = "root";
pub(crate) const NAMESPACES: [&str; 3] = ["shop", "data", ROOT];

const PATTERNS: [&str; 10] = [
    ".*",
    "burst_.*",
    "burst_(requests|rejected)_per_second",
    "queue_[a-d]\\w*",
    "queue_(?:depth|age)?",
    "[^q].+",
    "pubsub/\\w+",
    "a\\.b",
    "a.b",
    "v\\d{1,2}x?",
];
const METRICS: [&str; 10] = [
    "burst_headroom",
    "Burst|Headroom",
    "burst\\|requests_per_second",
    "queue_depth",
    "QUEUE_age",
    "pubsub|depth",
    "a.b",
    "axb",
    "v12x",
    "v123",
];
const KEYS: [&str; 2] = ["team", "tier"];
const VALUES: [&str; 3] = ["a", "b", "c"];

pub(crate) struct Generator(Rng);

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Rng::with_seed(seed))
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.0.usize(..of.len())]
    }

    /// Returns a few policies of any scope.
    pub(crate) fn policies(&mut self) -> Vec<Value> {
        (0..self.0.usize(1..4)).map(|number| self.policy(number)).collect()
    }

    fn policy(&mut self, number: usize) -> Value {
        let namespace = self.one(&NAMESPACES);
        loop {
            let rules: Vec<_> = (0..self.0.usize(1..6)).map(|_| self.rule()).collect();
            let mut spec = json!({"rules": rules});
            match self.0.u8(..5) {
                0 => spec["subjects"] = json!([{"kind": "User", "name": "somebody-else"}]),
                1 => spec["subjects"] = json!([{"kind": "Group", "name": "system:serviceaccounts:kube-system"}]),
                _ => {}
            }
            // The selector may contradict itself, which makes the policy invalid.
            if Policy::parse("p", None, &spec.to_string()).is_ok() {
                return policy(&format!("p-{number}"), namespace, &spec);
            }
        }
    }

    fn rule(&mut self) -> Value {
        let metric = match self.0.u8(..4) {
            0 => self.pattern(),
            _ => self.one(&PATTERNS).to_owned(),
        };
        match self.0.u8(..4) {
            0 => json!({"metric": metric, "deny": true}),
            _ => json!({"metric": metric, "selector": self.selector(false)}),
        }
    }

    /// Returns a pattern made of parts of the metric names.
    fn pattern(&mut self) -> String {
        const ATOMS: [&str; 9] = ["a", "b", "q", "[a-q]", "[^b]", ".", "\\w", "(?:ue|ur)", "(_|\\.)"];
        let mut pattern = String::new();
        for _ in 0..self.0.usize(1..5) {
            pattern += self.one(&ATOMS);
            pattern += self.one(&["", "", "*", "+", "?", "{2}", "{1,3}", "{0,}"]);
        }
        pattern + self.one(&["", ".*", "|v.*"])
    }

    /// Returns a selector. With `allow_invalid` it may be invalid; the API server does not validate the selectors of an HPA.
    fn selector(&mut self, allow_invalid: bool) -> Value {
        let mut selector = json!({});
        if self.0.bool() {
            selector["matchLabels"] = json!({self.one(&KEYS): self.one(&VALUES)});
        }
        let expressions: Vec<_> = (0..self.0.usize(..3)).map(|_| self.expression(allow_invalid)).collect();
        if !expressions.is_empty() {
            selector["matchExpressions"] = json!(expressions);
        }
        selector
    }

    fn expression(&mut self, allow_invalid: bool) -> Value {
        let (key, operator) = (self.one(&KEYS), self.one(&["In", "NotIn", "Exists", "DoesNotExist"]));
        let mut values: Vec<_> = VALUES.into_iter().filter(|_| self.0.bool()).collect();
        if allow_invalid && self.0.u8(..12) == 0 {
            return json!({"key": key, "operator": self.one(&["Near", "In", "Exists"]), "values": values});
        }
        if !operator.ends_with("In") {
            return json!({"key": key, "operator": operator});
        }
        if values.is_empty() {
            values.push("a");
        }
        json!({"key": key, "operator": operator, "values": values})
    }

    /// Returns an HPA with some external metrics, and a pods metric that policies do not apply to.
    pub(crate) fn hpa(&mut self, number: usize) -> Value {
        let namespace = self.one(&NAMESPACES);
        let mut metrics: Vec<_> = (0..self.0.usize(..4)).map(|_| self.external()).collect();
        metrics.push(json!({"type": "Pods", "pods": {
            "metric": {"name": "queue_depth"}, "target": {"type": "AverageValue", "averageValue": "1"}}}));
        hpa(&format!("hpa-{number}"), namespace, &metrics)
    }

    fn external(&mut self) -> Value {
        let name = self.one(&METRICS);
        let mut metric = external(name, &self.selector(true));
        if self.0.u8(..6) == 0 {
            metric["external"]["metric"].as_object_mut().unwrap().remove("selector");
        }
        metric
    }
}

pub(crate) fn policy(name: &str, namespace: &str, spec: &Value) -> Value {
    let metadata = json!({"name": name, "namespace": namespace});
    json!({"apiVersion": "burstmetrics.dev/v1alpha1", "kind": "ExternalMetricPolicy", "metadata": metadata, "spec": spec})
}

pub(crate) fn external(name: &str, selector: &Value) -> Value {
    json!({"type": "External", "external": {
        "metric": {"name": name, "selector": selector}, "target": {"type": "AverageValue", "averageValue": "1"}}})
}

pub(crate) fn hpa(name: &str, namespace: &str, metrics: &[Value]) -> Value {
    json!({
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "maxReplicas": 10,
            "metrics": metrics,
        },
    })
}
