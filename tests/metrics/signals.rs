//! What a proxy says of HPAs that the real HPA controller cannot help: over the maximum, without a metric, or fixed.

use burst_testkit::{
    Controllers, Version,
    http::{Answer, Request, ask},
    metrics_apis::{
        SOON, Stage, shop,
        workers::{Worker, wait_until_active},
    },
    wait,
};
use serde_json::{Value, json};

use crate::scaling::{average, external};

const FIELDS: &str = r#""endpoints": {"extra_fields": ["ready", "demand", "state"]}, "#;

fn signals(stage: &Stage, path: &str) -> Result<[Value; 4], String> {
    let url = format!("http://{}/burstmetrics/{path}?format=json", stage.proxy.public());
    let Answer { status, body, .. } = ask(&Request::of("GET", &url)).map_err(|error| error.to_string())?;
    let load: Value = serde_json::from_str(&body).map_err(|error| format!("{status} {body}: {error}"))?;
    Ok(["max", "ready", "demand", "state"].map(|key| load[key].clone()))
}

#[test]
fn an_hpa_is_limited_above_its_maximum_blocked_without_its_metric_and_fixed_if_it_cannot_change() {
    let stage = Stage::with(Version::Tested, Controllers::All, FIELDS);
    shop::create(&stage.cluster);
    // The metric is 5, so the targets want 50 replicas, and 1.
    let max = |target: Value| external("burst_max_load", &json!({"service": "web"}), &target);
    let tenth = json!({"type": "AverageValue", "averageValue": "100m"});
    let mut fixed = Worker::new("fixed", max(average(5)));
    fixed.least = 10;
    let workers = [Worker::new("over", max(tenth)), fixed];
    workers.iter().for_each(|worker| worker.create(&stage.cluster));
    for (path, expected) in [
        ("hpas/shop/over", [json!(10), json!(10), json!(50), json!("limited")]),
        (
            "deployments/shop/over",
            [json!(10), json!(10), json!(50), json!("limited")],
        ),
        ("hpas/shop/fixed", [json!(10), json!(10), json!(1), json!("fixed")]),
        // No metrics API here serves the CPU time of pods, which its HPA asks for.
        ("services/shop/web", [json!(5), json!(1), json!(null), json!("blocked")]),
    ] {
        wait::for_ok(SOON * 2, path, || {
            // Makes new pods ready, too.
            wait_until_active(&stage.cluster, &workers);
            let found = signals(&stage, path)?;
            if found == expected {
                Ok(())
            } else {
                Err(format!("{found:?}"))
            }
        });
    }
}
