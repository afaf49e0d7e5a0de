//! How long `hpa lint` takes for many HPAs in one file: `make bench` prints the table. Nothing here passes or fails.
#![allow(missing_docs, reason = "a program")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use burst_hpa::Options;
use burstctl::args::Format;
use burstctl::input::{Input, Source};
use burstctl::lint::{check, write};
use burstctl::yaml::documents;

const ROUNDS: usize = 21;

fn main() {
    println!(
        "{:>6}  {:>9}  {:>12}  {:>12}  {:>12}",
        "HPAs", "MB", "parse", "lint", "lint + text"
    );
    for count in [100, 1_000, 10_000] {
        let text = file(count);
        let parse = median(|| drop(black_box(documents(&text))));
        let lint = median(|| drop(black_box(check(&input(&text), Options::default()))));
        let whole = median(|| {
            let input = input(&text);
            let findings = check(&input, Options::default());
            write(&findings, &input.sources, Format::Text, false, &mut std::io::sink()).unwrap();
        });
        let tenths = text.len() / 100_000;
        println!(
            "{count:>6}  {:>7}.{}  {parse:>12.1?}  {lint:>12.1?}  {whole:>12.1?}",
            tenths / 10,
            tenths % 10
        );
    }
}

fn input(text: &str) -> Input {
    let (name, text) = ("hpas.yaml".to_owned(), text.to_owned());
    Input::of([Source { name, text }])
}

fn median(mut work: impl FnMut()) -> Duration {
    let mut rounds: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let started = Instant::now();
            work();
            started.elapsed()
        })
        .collect();
    rounds.sort();
    rounds[ROUNDS / 2]
}

/// Each with two metrics and a behavior; every tenth is refused.
fn file(count: usize) -> String {
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
    }
    text
}
