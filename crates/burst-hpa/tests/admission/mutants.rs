//! Random HPAs from a seed: mostly valid, with values at every boundary and faults in every field.

use burst_hpa::{Node, NodeValue};
use fastrand::Rng;

use crate::boundary_values::*;
use crate::json_text::{number, object, text};

pub(crate) struct Mutants {
    pub rng: Rng,
    /// The percentage of faulty fields, chosen for each object.
    pub faults: u32,
}

impl Mutants {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            rng: Rng::with_seed(seed),
            faults: 0,
        }
    }

    pub(crate) fn hpa(&mut self) -> Node {
        self.faults = self.choose(&[0, 2, 4, 8, 15]);
        let mut fields = vec![
            ("apiVersion", self.rarely("v2", "autoscaling/v2")),
            ("kind", self.rarely("Scale", "HorizontalPodAutoscaler")),
            ("metadata", self.metadata()),
            ("spec", self.spec()),
        ];
        if self.chance(5) {
            fields.push(("status", self.status()));
        }
        self.node(fields)
    }

    fn metadata(&mut self) -> Node {
        let mut fields = vec![("name", self.text(&["web", "a", "web.v2", "9-lives"], NAMES))];
        if self.chance(5) {
            fields = vec![("generateName", self.text(&["web-", "web", "a"], NAMES))];
        }
        if self.chance(20) {
            fields.push(("namespace", self.text(&["shop", "default"], LABELS)));
        }
        if self.chance(15) {
            fields.push((
                "labels",
                self.map(
                    &["app", "example.com/team", "A_b.c"],
                    KEYS,
                    &["", "web", "v1.0_x"],
                    VALUES,
                ),
            ));
        }
        if self.chance(15) {
            fields.push((
                "annotations",
                self.map(&["note", "Example.COM/Note"], KEYS, &["", "any % text / at all"], &[]),
            ));
        }
        if self.chance(12) {
            fields.push(("finalizers", self.finalizers()));
        }
        if self.chance(12) {
            fields.push(("ownerReferences", self.owners()));
        }
        if self.chance(12) {
            fields.push((
                "generation",
                self.integer(&[0, 1, i64::from(i32::MAX) + 1], &["-1", "9223372036854775808"]),
            ));
        }
        if self.chance(12) {
            fields.push(("creationTimestamp", self.text(&["2026-11-21T05:59:00Z"], TIMES)));
        }
        self.node(fields)
    }

    fn finalizers(&mut self) -> Node {
        let count = self.rng.usize(0..3);
        Node::list(
            (0..count)
                .map(|_| self.text(&["orphan", "foregroundDeletion", "a/b"], KEYS))
                .collect(),
        )
    }

    fn owners(&mut self) -> Node {
        let count = self.rng.usize(0..3);
        Node::list((0..count).map(|_| self.owner()).collect())
    }

    fn owner(&mut self) -> Node {
        let fields = vec![
            ("apiVersion", self.text(&["apps/v1", "v1"], &["", "a/b/c", "apps/"])),
            ("kind", self.text(&["Deployment", "Event"], &[""])),
            ("name", self.text(&["web"], &[""])),
            ("uid", self.text(&["u"], &[""])),
            ("controller", NodeValue::Bool(self.chance(50)).into()),
        ];
        self.node(fields)
    }

    fn spec(&mut self) -> Node {
        let mut fields = vec![
            (
                "scaleTargetRef",
                self.reference(&["Deployment", "StatefulSet", "ReplicationController"], &["apps/v1"]),
            ),
            (
                "maxReplicas",
                self.integer(
                    &[1, 2, 3, 10, 2_147_483_647],
                    &["0", "-1", "-2147483648", "2147483648", "3.0", "1e2"],
                ),
            ),
        ];
        if self.chance(60) {
            fields.push((
                "minReplicas",
                self.integer(&[1, 1, 1, 2], &["0", "-1", "3", "11", "2147483647", "1.5"]),
            ));
        }
        if self.chance(80) {
            fields.push(("metrics", self.metrics()));
        }
        if self.chance(50) {
            fields.push(("behavior", self.behavior()));
        }
        self.node(fields)
    }

    fn reference(&mut self, kinds: &[&str], api_versions: &[&str]) -> Node {
        let mut fields = vec![
            ("kind", self.text(kinds, SEGMENTS)),
            ("name", self.text(&["web", "Any Name"], SEGMENTS)),
        ];
        if self.chance(95) {
            fields.push((
                "apiVersion",
                self.text(api_versions, &["", "/", "v1", "/v1", "apps/", "a/b/c", "apps/v1/"]),
            ));
        }
        self.node(fields)
    }

    fn metrics(&mut self) -> Node {
        let count = self.choose(&[0, 1, 1, 1, 2, 3]);
        Node::list((0..count).map(|_| self.metric()).collect())
    }

    fn metric(&mut self) -> Node {
        let sources = ["Object", "External", "Pods", "Resource", "ContainerResource"];
        let source = self.choose(&sources);
        let mut fields = vec![(
            "type",
            self.text(&[source], &["", "Nothing", "resource", "Pods", "Object"]),
        )];
        if !self.fault() {
            fields.push(self.source(source));
        }
        while self.fault() {
            let other = self.choose(&sources);
            fields.retain(|(name, _)| *name != field_of(other));
            fields.push(self.source(other));
        }
        self.node(fields)
    }

    fn source(&mut self, source: &str) -> (&'static str, Node) {
        let fields = match source {
            "Object" => vec![
                (
                    "describedObject",
                    self.reference(&["Ingress", "Service"], &["networking.k8s.io/v1", "v1"]),
                ),
                ("metric", self.identifier()),
                ("target", self.target(&["value", "averageValue"])),
            ],
            "External" => vec![
                ("metric", self.identifier()),
                ("target", self.target(&["value", "averageValue"])),
            ],
            "Pods" => vec![
                ("metric", self.identifier()),
                ("target", self.target(&["averageValue"])),
            ],
            "Resource" => vec![
                ("name", self.text(&["cpu", "memory", "No Such!"], &[""])),
                ("target", self.target(&["averageUtilization", "averageValue"])),
            ],
            _ => vec![
                (
                    "name",
                    self.text(&["cpu", "memory", "hugepages-2Mi", "example.com/gpu"], RESOURCES),
                ),
                ("container", self.text(&["app", "istio-proxy"], LABELS)),
                ("target", self.target(&["averageUtilization", "averageValue"])),
            ],
        };
        (field_of(source), self.node(fields))
    }

    fn identifier(&mut self) -> Node {
        let mut fields = vec![("name", self.text(&["hits-per-second", "queue:size", "Ä b"], SEGMENTS))];
        if self.chance(30) {
            fields.push(("selector", self.selector()));
        }
        self.node(fields)
    }

    fn selector(&mut self) -> Node {
        let mut fields = Vec::new();
        if self.chance(60) {
            fields.push(("matchLabels", self.map(&["app", "verb"], KEYS, &["", "GET"], VALUES)));
        }
        if self.chance(30) {
            let operator = self.choose(&["In", "NotIn", "Exists", "DoesNotExist", "Near"]);
            let mut requirement = vec![("key", text("env")), ("operator", text(operator))];
            if self.chance(60) {
                requirement.push(("values", Node::list(vec![text("a"); self.rng.usize(0..3)])));
            }
            fields.push(("matchExpressions", Node::list(vec![self.node(requirement)])));
        }
        self.node(fields)
    }

    fn target(&mut self, allowed: &[&'static str]) -> Node {
        let field = self.choose(allowed);
        let fitting = match field {
            "value" => "Value",
            "averageValue" => "AverageValue",
            _ => "Utilization",
        };
        let mut fields = vec![(
            "type",
            self.text(&[fitting], &["", "Utilization", "Value", "AverageValue", "average"]),
        )];
        if !self.fault() {
            fields.push((field, self.amount(field)));
        }
        while self.fault() {
            let other = self.choose(&["value", "averageValue", "averageUtilization"]);
            fields.retain(|(name, _)| *name != other);
            fields.push((other, self.amount(other)));
        }
        self.node(fields)
    }

    fn amount(&mut self, field: &str) -> Node {
        match field {
            "averageUtilization" => self.integer(&[1, 50, 80, 101, 2_147_483_647], &["0", "-1", "50.0", "\"50\""]),
            _ => self.quantity(&[
                "100m", " 1 ", "1", "1k", "1Gi", "1024Mi", "0.5", "1e3", "1E", "5000n", "007", "+5",
            ]),
        }
    }

    fn quantity(&mut self, good: &[&str]) -> Node {
        let bad = [
            "0",
            "1\n",
            "-1",
            "0m",
            "-100m",
            "1K",
            "1 Gi",
            "",
            "abc",
            "1e",
            "0x1F",
            "1,5",
            "-0.0000000001",
            ".",
        ];
        let written = if self.fault() {
            self.choose(&bad)
        } else {
            self.choose(good)
        };
        match written.parse::<f64>() {
            Ok(_) if self.chance(30) && serde_json::from_str::<serde_json::Number>(written).is_ok() => number(&written),
            _ => text(written),
        }
    }

    fn behavior(&mut self) -> Node {
        let mut fields = Vec::new();
        for direction in ["scaleUp", "scaleDown"] {
            if self.chance(65) {
                fields.push((direction, self.rules()));
            }
        }
        self.node(fields)
    }

    fn rules(&mut self) -> Node {
        let mut fields = Vec::new();
        if self.chance(50) {
            let window = self.integer(&[0, 1, 300, 3600], &["-1", "3601", "2147483647", "-2147483648", "1.5"]);
            fields.push(("stabilizationWindowSeconds", window));
        }
        if self.chance(50) {
            fields.push((
                "selectPolicy",
                self.text(&["Max", "Min", "Disabled"], &["", "max", "Sum"]),
            ));
        }
        if self.chance(70) {
            let count = if self.fault() { 0 } else { self.rng.usize(1..3) };
            fields.push(("policies", Node::list((0..count).map(|_| self.policy()).collect())));
        }
        if self.chance(30) {
            fields.push(("tolerance", self.quantity(&["0", "0.05", "100m", "1", "5", "1e-10"])));
        }
        self.node(fields)
    }

    fn policy(&mut self) -> Node {
        let fields = vec![
            (
                "type",
                self.text(&["Pods", "Percent"], &["", "MaxPods", "Disabled", "pods"]),
            ),
            ("value", self.integer(&[1, 4, 100, 2_147_483_647], &["0", "-1"])),
            (
                "periodSeconds",
                self.integer(&[1, 15, 1800], &["0", "-1", "1801", "2147483647"]),
            ),
        ];
        self.node(fields)
    }

    fn status(&mut self) -> Node {
        let condition = object([
            ("type", text("AbleToScale")),
            ("status", text("True")),
            ("reason", text("ReadyForNewScale")),
        ]);
        let fields = vec![
            ("currentReplicas", self.integer(&[0, 3], &["-1", "1.5"])),
            ("desiredReplicas", self.integer(&[0, 3], &["-1"])),
            ("lastScaleTime", self.text(&["2026-11-21T05:59:00Z"], TIMES)),
            ("conditions", Node::list(vec![condition])),
        ];
        self.node(fields)
    }
}

fn field_of(source: &str) -> &'static str {
    match source {
        "Object" => "object",
        "External" => "external",
        "Pods" => "pods",
        "Resource" => "resource",
        _ => "containerResource",
    }
}
