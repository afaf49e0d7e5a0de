//! Values of pods: the requests to the addresses of each.
//!
//! A pod has a value only if all counted requests to its addresses were its own. The HPA controller takes a pod without a
//! value for idle before it scales up, and for fully used before it scales down.

use super::{ObjectValue, fresh_snapshot, known_rates};
use crate::milli_value::MilliValue;
use crate::sources::MetricSources;
use crate::status::StatusError;
use burst_model::index::{PODS, PodAddresses};
use burst_model::metric::RequestMetric;
use burst_model::request_rates::{RateSums, ServiceRate};
use burst_model::snapshot::{Entry, Section};
use burst_model::time::Time;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// The times of a report and of an EndpointSlice come over the network.
const DELAY_ALLOWANCE: Duration = Duration::from_secs(3);

/// The values of a metric of pods.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PodValues<'a> {
    metric: RequestMetric,
    pods: Section<'a>,
    addresses: &'a BTreeMap<IpAddr, ServiceRate>,
    /// The start of the time over which requests were counted.
    counted_since: Time,
}

impl<'a> PodValues<'a> {
    /// Also returns the counts, which have the time and the window.
    ///
    /// # Errors
    /// `503` if it is not known which pods the requests to the Services of the namespace were for.
    pub(crate) fn read(
        sources: &MetricSources<'a>,
        metric: RequestMetric,
        namespace: &str,
    ) -> Result<(Self, &'a RateSums), StatusError> {
        let counted = known_rates(sources)?;
        let (snapshot, _) = fresh_snapshot(sources)?;
        // An EndpointSlice of any namespace may claim an address.
        if let Some(list) = sources.cache.unread_list(sources.config, PODS, None) {
            return Err(StatusError::unavailable(format!(
                "the pods are not known: cannot list {list}"
            )));
        }
        let addresses = counted.addresses.as_ref().ok_or_else(|| {
            StatusError::unavailable(
                "the requests to pods are not known: a proxy does not count them, or there are too many addresses, or \
                 endpoints without one",
            )
        })?;
        let no_pods = || StatusError::unavailable("the snapshot has no pods yet");
        let values = Self {
            metric,
            pods: snapshot.section(PODS).ok_or_else(no_pods)?,
            addresses,
            counted_since: counted.as_of.before(counted.window.saturating_add(DELAY_ALLOWANCE)),
        };
        values.check_attribution(counted, namespace)?;
        Ok((values, counted))
    }

    /// Checks that Envoy sends its requests to pods. If it sends them to the address of a Service, which pod answers is not
    /// known, and no pod may have the value 0. Requests to pods that went away count against it too.
    fn check_attribution(&self, counted: &RateSums, namespace: &str) -> Result<(), StatusError> {
        let answered = |rate: &ServiceRate| rate.requests_milli.saturating_sub(rate.rejected_milli);
        let prefix = format!("{namespace}/");
        let services = counted.services.range(prefix.clone()..);
        let services = services.take_while(|(service, _)| service.starts_with(&prefix));
        let to_services = services.map(|(_, rate)| answered(rate)).fold(0, u64::saturating_add);
        let pods = self.pods.namespace(namespace);
        let addresses = pods.filter_map(|(_, pod)| Some(PodAddresses::parse(pod.label)?.addresses));
        let rates = addresses.flatten().filter_map(|address| self.addresses.get(&address));
        let to_pods = rates.map(answered).fold(0, u64::saturating_add);
        if to_pods < to_services / 2 {
            return Err(StatusError::unavailable(format!(
                "fewer than half of the requests to the services of {namespace} went to an address of a known pod"
            )));
        }
        Ok(())
    }

    pub(crate) fn pod(&self, pod: &str) -> Option<MilliValue> {
        self.value(self.pods.find(pod)?)
    }

    /// The values of all pods of a namespace that have one.
    pub(crate) fn pods(&self, namespace: &str) -> Vec<ObjectValue<'a>> {
        let pods = self.pods.namespace(namespace);
        let values = pods.filter_map(|(name, pod)| {
            Some(ObjectValue {
                name,
                labels: pod.labels,
                value: self.value(pod)?,
            })
        });
        values.collect()
    }

    /// The value of a pod. `None` if requests were counted before the pod is known to have its addresses.
    fn value(&self, pod: Entry<'_>) -> Option<MilliValue> {
        let PodAddresses { since, addresses } = PodAddresses::parse(pod.label)?;
        if since > self.counted_since {
            return None;
        }
        let rates = addresses.iter().filter_map(|address| self.addresses.get(address));
        let sum = rates.fold(ServiceRate::default(), |sum, rate| ServiceRate {
            requests_milli: sum.requests_milli.saturating_add(rate.requests_milli),
            rejected_milli: sum.rejected_milli.saturating_add(rate.rejected_milli),
            in_flight_milli: None,
        });
        MilliValue::of_rate(sum, self.metric)
    }
}
