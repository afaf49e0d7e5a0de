//! How long `hpa lint` takes for many HPAs in one file, with and without their targets: `make bench` prints the table.
#![allow(missing_docs, reason = "a program")]

use std::fmt::Write as _;
use std::hint::black_box;

use burst_bench_kit::Table;
use burst_hpa::Options;
use burstctl::args::LintFormat;
use burstctl::input::{Input, SourceFile};
use burstctl::lint::{check, write};
use burstctl::printer::Printer;
use burstctl::yaml::documents;

fn main() {
    let mut table = Table::new("lint");
    let mut medians = Vec::new();
    for count in [100, 1_000, 10_000] {
        let (alone, among) = (file(count, false), file(count, true));
        table.measure(format!("{count} HPAs: read"), || drop(black_box(documents(&alone))));
        medians.push(table.measure(format!("{count} HPAs: lint"), || lint(&alone)));
        table.measure(format!("{count} HPAs with Deployment and budget: lint"), || {
            lint(&among);
        });
    }
    if let [.., before, last] = medians.as_slice() {
        let growth = last.as_secs_f64() / before.as_secs_f64();
        println!("ten times as many HPAs take {growth:.1} times as long");
    }
    table.save(env!("CARGO_TARGET_TMPDIR"));
}

/// Lints as the command does, without reading a file.
fn lint(text: &str) {
    let (name, text) = ("hpas.yaml".to_owned(), text.to_owned());
    let input = Input::from_sources([SourceFile { name, text }]);
    let findings = check(&input, Options::default());
    write(
        &findings,
        &input.sources,
        LintFormat::Text,
        &mut Printer::new(std::io::sink(), false),
    )
    .unwrap();
}

/// Each with two metrics and a behavior; every tenth is refused.
fn file(count: usize, neighbours: bool) -> String {
    let mut text = String::new();
    for n in 0..count {
        let max = if n % 10 == 0 { 1 } else { 10 };
        write!(
            text,
            "---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: web-{n}
  namespace: shop
  labels: {{app: web, team: books}}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: web-{n}
  minReplicas: 2
  maxReplicas: {max}
  metrics:
  - type: Resource
    resource: {{name: cpu, target: {{type: Utilization, averageUtilization: 80}}}}
  - type: External
    external:
      metric: {{name: messages, selector: {{matchLabels: {{queue: orders-{n}}}}}}}
      target: {{type: AverageValue, averageValue: \"30\"}}
  behavior:
    scaleDown:
      stabilizationWindowSeconds: 600
      policies:
      - {{type: Pods, value: 1, periodSeconds: 60}}
"
        )
        .unwrap();
        if neighbours {
            write!(
                text,
                "---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web-{n}, namespace: shop}}
spec:
  selector: {{matchLabels: {{app: web-{n}, team: books}}}}
  template:
    metadata: {{labels: {{app: web-{n}, team: books}}}}
    spec: {{containers: [{{name: app, image: 'web:1', resources: {{requests: {{cpu: 500m}}}}}}]}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: web-{n}, namespace: shop}}
spec: {{maxUnavailable: 1, selector: {{matchLabels: {{app: web-{n}, team: books}}}}}}
"
            )
            .unwrap();
        }
    }
    text
}
