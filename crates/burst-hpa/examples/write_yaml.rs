//! Writes an HPA as YAML: `cargo run -p burst-hpa --example write_yaml > hpa.yaml`. Warnings go to stderr.

use std::error::Error;

use burst_hpa::builder::{AverageValue, BuildErrors, Built, Hpa, PodsMetric, ResourceMetric, ScaleTarget, Utilization};
use burst_hpa::metric::Resource;

fn main() -> Result<(), Box<dyn Error>> {
    let built = bookstore()?;
    for warning in &built.warnings {
        eprintln!("{}: {}", warning.field, warning.effect);
    }
    print!("{}", serde_saphyr::to_string(&built.hpa)?);
    Ok(())
}

/// Scales a Deployment by its CPU and by a metric of each pod.
fn bookstore() -> Result<Built, BuildErrors> {
    Hpa::new(ScaleTarget::deployment("bookstore-api"), 10)
        .namespace("shop")
        .min_replicas(2)
        .metric(ResourceMetric::new(Resource::Cpu, Utilization(60)))
        .metric(PodsMetric::new("http_requests_per_second", AverageValue::new(100)))
        .build()
}

#[cfg(test)]
mod tests {
    use super::bookstore;

    #[test]
    fn the_readme_shows_the_output() {
        let built = bookstore().unwrap();
        assert_eq!(built.warnings, []);
        let yaml = serde_saphyr::to_string(&built.hpa).unwrap();
        let readme = include_str!("../README.md");
        assert!(readme.contains(&format!("```yaml\n{yaml}```")), "{yaml}");
    }
}
