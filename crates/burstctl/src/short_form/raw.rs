//! The short form as the user writes it. `l2.schema.json` describes it.

use std::collections::BTreeMap;

use burst_hpa::Quantity;
use serde::{Deserialize, Deserializer, de};

use super::duration::DurationValue;
use crate::objects::Object;

const API_VERSION: &str = "burstctl/v1";
const KIND: &str = "Hpa";

/// Returns whether an object is a short form.
pub(crate) fn is_short(object: &Object) -> bool {
    object.api_version() == API_VERSION && object.kind() == KIND
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ShortHpa {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    pub name: Option<String>,
    pub namespace: Option<String>,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
    pub target: TargetReference,
    pub min: Option<i32>,
    pub max: i32,
    #[serde(default)]
    pub metrics: Vec<Metric>,
    pub scale_up: Option<Rules>,
    pub scale_down: Option<Rules>,
}

/// Written as `Deployment/web`, as `StatefulSet/web`, or as an object with all three fields.
#[derive(Clone, Debug)]
pub(super) struct TargetReference {
    pub api_version: String,
    pub kind: String,
    pub name: String,
}

impl<'de> Deserialize<'de> for TargetReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(
            untagged,
            deny_unknown_fields,
            expecting = "expected Deployment/NAME, StatefulSet/NAME or {apiVersion, kind, name}"
        )]
        enum Form {
            Short(String),
            #[serde(rename_all = "camelCase")]
            Long {
                api_version: String,
                kind: String,
                name: String,
            },
        }
        match Form::deserialize(deserializer)? {
            Form::Long {
                api_version,
                kind,
                name,
            } => Ok(Self {
                api_version,
                kind,
                name,
            }),
            Form::Short(text) => match text.split_once('/') {
                Some((kind @ ("Deployment" | "StatefulSet"), name)) => Ok(Self {
                    api_version: "apps/v1".to_owned(),
                    kind: kind.to_owned(),
                    name: name.to_owned(),
                }),
                _ => Err(de::Error::custom(format_args!(
                    "{text:?}: expected Deployment/NAME, StatefulSet/NAME or {{apiVersion, kind, name}}"
                ))),
            },
        }
    }
}

/// The source is `resource`, `pods`, `object` or `external`. The target is `utilization`, `average` or `value`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Metric {
    pub resource: Option<Resource>,
    pub container: Option<String>,
    pub pods: Option<String>,
    pub object: Option<TargetReference>,
    pub external: Option<String>,
    /// The name of the metric, if the source is `object`.
    pub metric: Option<String>,
    pub selector: Option<BTreeMap<String, String>>,
    pub utilization: Option<i32>,
    pub average: Option<QuantityValue>,
    pub value: Option<QuantityValue>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Resource {
    Cpu,
    Memory,
}

/// A quantity, as text or as a number.
#[derive(Clone, Debug)]
pub(super) struct QuantityValue(pub Quantity);

impl<'de> Deserialize<'de> for QuantityValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(text) => text,
            serde_json::Value::Number(number) => number.to_string(),
            other => {
                return Err(de::Error::custom(format_args!(
                    "{other} is not a quantity such as 100m or 1Gi"
                )));
            }
        };
        let quantity = text
            .parse()
            .map_err(|error| de::Error::custom(format_args!("{text:?}: {error}")))?;
        Ok(Self(quantity))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rules {
    #[serde(default)]
    pub disabled: bool,
    pub window: Option<DurationValue>,
    pub select: Option<Select>,
    #[serde(default)]
    pub policies: Vec<Policy>,
    pub tolerance: Option<QuantityValue>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Select {
    Max,
    Min,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Policy {
    pub pods: Option<i32>,
    pub percent: Option<i32>,
    pub every: DurationValue,
}
