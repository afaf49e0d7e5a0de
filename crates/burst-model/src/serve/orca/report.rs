//! The report of the filter on a Service, and its two formats.

use crate::config::OrcaFormat;
use crate::load::Load;
use crate::request_rates::ServiceRate;
use crate::serve::format::push_milli;
use std::cell::OnceCell;

/// Envoy gives a locality at 1.0 no traffic, so it never hears that it has capacity again until the report expires, after 3 min
/// by default. At 0.99 some requests still go there.
const MOST_MILLI: u64 = 990;

/// Readers take 0 for "not reported". The least value is a hundredth, as the distance of the most from 1: a value near 0 would
/// be a weight without bounds.
const LEAST_MILLI: u64 = 10;

/// A metric of a report: its name in the protobuf message, and its value in thousandths.
pub(super) type MetricValue = (&'static str, u64);

/// The report of the filter on a Service.
#[derive(Debug)]
pub struct OrcaReport {
    fields: Vec<MetricValue>,
    named: [MetricValue; 4],
    text: OnceCell<Box<str>>,
    json: OnceCell<Box<str>>,
}

impl OrcaReport {
    /// The report on a Service with this load. `None` if it has no replicas: a load balancer would take that for an idle
    /// endpoint, and prefer it. Without a rate the report has no `rps_fractional`.
    #[must_use]
    pub fn new(load: Load, rate: Option<ServiceRate>) -> Option<Self> {
        let utilization = load.utilization_milli().filter(|_| load.current > 0)?;
        let rate = rate.unwrap_or_default();
        let rates = [("rps_fractional", rate.requests_milli), ("eps", rate.rejected_milli)];
        let mut fields = vec![("application_utilization", utilization.clamp(LEAST_MILLI, MOST_MILLI))];
        fields.extend(rates.into_iter().filter(|(_, milli)| *milli > 0));
        let replicas = |count: u32| u64::from(count) * 1000;
        Some(Self {
            fields,
            named: [
                ("burst.current", replicas(load.current)),
                ("burst.target", replicas(load.target)),
                ("burst.max", replicas(load.max)),
                ("burst.utilization", utilization),
            ],
            text: OnceCell::new(),
            json: OnceCell::new(),
        })
    }

    /// The metrics that are fields of the message.
    pub(super) fn fields(&self) -> &[MetricValue] {
        &self.fields
    }

    /// The entries of its map `named_metrics`.
    pub(super) fn named(&self) -> &[MetricValue] {
        &self.named
    }

    /// The value of the header, rendered at most once.
    #[must_use]
    pub fn render(&self, format: OrcaFormat) -> &str {
        match format {
            OrcaFormat::Text => self.text.get_or_init(|| self.to_text().into()),
            OrcaFormat::Json => self.json.get_or_init(|| self.to_json().into()),
        }
    }

    fn to_text(&self) -> String {
        let mut text = "TEXT ".to_owned();
        let all = self.fields.iter().map(|metric| ("", metric));
        let all = all.chain(self.named.iter().map(|metric| (NAMED_PREFIX, metric)));
        for (index, (prefix, (name, milli))) in all.enumerate() {
            text.push_str(if index > 0 { "," } else { "" });
            push_text_metric(&mut text, prefix, name, *milli);
        }
        text
    }

    fn to_json(&self) -> String {
        let mut json = "JSON {".to_owned();
        for (name, milli) in &self.fields {
            push_json_metric(&mut json, name, *milli);
            json.push(',');
        }
        json.push_str(r#""named_metrics":{"#);
        for (index, (name, milli)) in self.named.iter().enumerate() {
            json.push_str(if index > 0 { "," } else { "" });
            push_json_metric(&mut json, name, *milli);
        }
        json.push_str("}}");
        json
    }
}

/// The names in the map `named_metrics` have this prefix in the text format.
pub(super) const NAMED_PREFIX: &str = "named_metrics.";

/// `name=value`. Envoy reads `=` since 1.33.
pub(super) fn push_text_metric(text: &mut String, prefix: &str, name: &str, milli: u64) {
    [prefix, name, "="].into_iter().for_each(|part| text.push_str(part));
    push_milli(text, milli);
}

fn push_json_metric(json: &mut String, name: &str, milli: u64) {
    ["\"", name, "\":"].into_iter().for_each(|part| json.push_str(part));
    push_milli(json, milli);
}
