//! A duration: whole seconds as a number, or text such as `5m`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, de};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DurationValue(pub Duration);

impl<'de> Deserialize<'de> for DurationValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected seconds as a whole number, or text such as 5m")]
        enum Form {
            Seconds(u32),
            Text(String),
        }
        match Form::deserialize(deserializer)? {
            Form::Seconds(seconds) => Ok(Self(Duration::from_secs(seconds.into()))),
            Form::Text(text) => humantime::parse_duration(&text)
                .map(Self)
                .map_err(|error| de::Error::custom(format_args!("{text:?} is not a duration such as 5m: {error}"))),
        }
    }
}
