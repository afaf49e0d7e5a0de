//! The Kubernetes version and feature gates whose rules apply.

use std::str::FromStr;

use burst_hpa::Options;
use clap::Args;

/// The Kubernetes version and the feature gates.
#[derive(Clone, Debug, Args)]
#[command(next_line_help = true)]
pub struct KubernetesArgs {
    /// The Kubernetes version whose rules apply, 1.33 to 1.36.
    #[arg(long, value_name = "VERSION", default_value = "1.36")]
    kube_version: KubeVersion,
    /// Feature gates that differ from the defaults of that version, in the
    /// format of the flag of kube-apiserver
    #[arg(long, value_name = "GATE=BOOL", value_delimiter = ',')]
    feature_gates: Vec<FeatureGate>,
}

impl KubernetesArgs {
    /// Returns the options of the validator.
    #[must_use]
    pub fn options(&self) -> Options {
        let mut options = Options::kubernetes_1(self.kube_version.0);
        for FeatureGate { gate, on } in &self.feature_gates {
            match gate {
                KnownGate::ScaleToZero => options.scale_to_zero = *on,
                KnownGate::Tolerance => options.tolerance = *on,
            }
        }
        options
    }
}

/// Returns the oldest and the newest Kubernetes version whose rules are known.
#[must_use]
pub fn kubernetes_versions() -> (String, String) {
    (format!("1.{}", MINORS.start()), format!("1.{}", MINORS.end()))
}

#[derive(Clone, Copy, Debug)]
struct KubeVersion(u32);

/// The minor versions whose rules the validator has.
const MINORS: std::ops::RangeInclusive<u32> = 33..=36;

impl FromStr for KubeVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        minor(text)
            .map(Self)
            .ok_or_else(|| format!("expected 1.{} to 1.{}", MINORS.start(), MINORS.end()))
    }
}

/// Parses the minor version. Distributions add to the patch version: `v1.34.2-eks-1a2b3c`.
fn minor(version: &str) -> Option<u32> {
    let rest = version.strip_prefix('v').unwrap_or(version).strip_prefix("1.")?;
    let (minor, patch) = rest.split_once('.').unwrap_or((rest, "0"));
    let known = MINORS.into_iter().find(|known| minor == known.to_string());
    known.filter(|_| patch.starts_with(|first: char| first.is_ascii_digit()))
}

#[derive(Clone, Copy, Debug)]
struct FeatureGate {
    gate: KnownGate,
    on: bool,
}

#[derive(Clone, Copy, Debug)]
enum KnownGate {
    ScaleToZero,
    Tolerance,
}

impl FromStr for FeatureGate {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (gate, on) = text.split_once('=').unwrap_or((text, ""));
        let gate = match gate.trim() {
            "HPAScaleToZero" => KnownGate::ScaleToZero,
            "HPAConfigurableTolerance" => KnownGate::Tolerance,
            _ => return Err("expected HPAScaleToZero=… or HPAConfigurableTolerance=…"),
        };
        // The spellings that Go's strconv.ParseBool accepts.
        let on = match on.trim() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => true,
            "0" | "f" | "F" | "false" | "FALSE" | "False" => false,
            _ => return Err("expected =true or =false"),
        };
        Ok(Self { gate, on })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_clusters_write_them_and_no_others() {
        for (text, expected) in [
            ("1.33", Some(33)),
            ("v1.34.2", Some(34)),
            ("v1.35.4-eks-1a2b3c", Some(35)),
            ("1.36.0+k3s1", Some(36)),
        ] {
            assert_eq!(minor(text), expected, "{text}");
        }
        for text in [
            "", "1", "1.", "1.32", "1.37", "vv1.36", "1.+36", "1.036", "1.36.x", "1.36.", "2.36", "latest",
        ] {
            assert_eq!(minor(text), None, "{text}");
        }
    }

    #[test]
    fn gates_are_read_as_the_apiservers_flag_has_them() {
        let on = |text: &str| text.parse::<FeatureGate>().map(|gate| gate.on);
        for (text, expected) in [
            ("HPAScaleToZero=true", Ok(true)),
            (" HPAScaleToZero = True", Ok(true)),
            ("HPAConfigurableTolerance=0", Ok(false)),
            ("HPAScaleToZero", Err("expected =true or =false")),
            ("HPAScaleToZero=yes", Err("expected =true or =false")),
        ] {
            assert_eq!(on(text), expected, "{text}");
        }
        assert!(on("AllAlpha=true").unwrap_err().starts_with("expected HPAScaleToZero"));
    }
}
