//! The oldest versions that the filter supports; docs/versions.md gives the reasons.

/// The minor version of the oldest Envoy 1.x.
pub(super) const OLDEST_ENVOY: u32 = 36;

/// The minor version of the oldest Istio 1.x: Istio 1.20 had Envoy 1.28, and both minor versions increase together.
pub(super) const OLDEST_ISTIO: u32 = 28;

/// The minor version of the oldest Kubernetes 1.x, the first with `autoscaling/v2`.
pub(super) const OLDEST_KUBERNETES: u32 = 23;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_versions_are_those_of_the_documentation() {
        let read = |file| std::fs::read_to_string(format!("{}/../../{file}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let oldest = format!("ENVOY_OLDEST_VERSION=1.{OLDEST_ENVOY}.");
        assert!(read("setup/versions.env").contains(&oldest), "{oldest}");
        let documented = read("docs/versions.md");
        for version in [
            format!("Istio 1.{OLDEST_ISTIO}"),
            format!("Kubernetes 1.{OLDEST_KUBERNETES}"),
        ] {
            assert!(documented.contains(&version), "{version}");
        }
    }
}
