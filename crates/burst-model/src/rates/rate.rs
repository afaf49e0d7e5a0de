//! What is served: the rates of every Service that a request was seen for.

use crate::name::ObjectName;
use crate::time::Time;
use std::collections::BTreeMap;
use std::time::Duration;

/// Whose requests were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// This proxy's only: a share of the whole, and named so (`burst_proxy_…`).
    Proxy,
    /// All proxies', as their reports to this one say (`burst_…`).
    AllProxies,
}

/// The requests to one Service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    /// Thousandths of a request a second, the rejected ones included.
    pub requests_milli_per_second: u64,
    /// Thousandths of a rejected request a second: answered with 503 or 429, by the Service or by the proxy for it.
    pub rejected_milli_per_second: u64,
    /// Thousandths of a request that was under way, on average over the window; `None` where it is not counted.
    pub in_flight_milli: Option<u64>,
}

/// The requests to all Services.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rates {
    /// When the oldest of the counts was taken.
    pub timestamp: Time,
    /// The time that was counted over, up to `timestamp`.
    pub window: Duration,
    /// Whose requests they are.
    pub scope: Scope,
    services: BTreeMap<ObjectName, Rate>,
}

impl Rates {
    /// These rates.
    #[must_use]
    pub fn new(timestamp: Time, window: Duration, scope: Scope, services: BTreeMap<ObjectName, Rate>) -> Self {
        Self {
            timestamp,
            window,
            scope,
            services,
        }
    }

    /// The rate of a Service; `None` where no request for it was ever seen: that is not known to be zero, since the
    /// Service may be reached by another way.
    #[must_use]
    pub fn of(&self, service: &ObjectName) -> Option<Rate> {
        self.services.get(service).copied()
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&ObjectName, Rate)> {
        self.services.iter().map(|(service, rate)| (service, *rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_that_nobody_asked_for_is_unknown_and_not_zero() {
        let quiet = ObjectName::parse("shop/quiet").unwrap();
        let services = BTreeMap::from([(quiet.clone(), Rate::default())]);
        let rates = Rates::new(Time::default(), Duration::from_secs(30), Scope::Proxy, services);
        assert_eq!(rates.of(&quiet), Some(Rate::default()));
        assert_eq!(rates.of(&ObjectName::parse("shop/never").unwrap()), None);
    }
}
