//! What is known of one metric: its values, and when they were read. Old values are no values: an HPA takes any number
//! for the present.

use super::MetricSources;
use super::catalog::{self, ServedMetric};
use super::milli_value::MilliValue;
use super::status::StatusError;
use burst_kube::label_text::LabelText;
use burst_model::config::Config;
use burst_model::index::{SERIES, SERVICES};
use burst_model::load::Load;
use burst_model::rates::{Rate, Rates, Shares};
use burst_model::snapshot::{Section, Snapshot};
use burst_model::time::Time;
use burst_model::view::Picture;
use burst_model::view::picture::Freshness;
use std::collections::BTreeSet;
use std::time::Duration;

/// The values of one metric.
#[derive(Clone, Copy, Debug)]
pub(super) struct MetricValues<'a> {
    of: ValueSource<'a>,
    /// When they were read.
    pub(super) as_of: Time,
    /// What they are averaged over, where they are.
    pub(super) window: Option<Duration>,
}

#[derive(Clone, Copy, Debug)]
enum ValueSource<'a> {
    Replicas(catalog::ReplicaMetric, &'a Snapshot),
    /// The snapshot tells which Services had no request.
    Requests(catalog::RequestMetric, &'a Shares, Option<&'a Snapshot>),
}

/// The value of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObjectValue<'a> {
    pub(super) name: &'a str,
    pub(super) labels: LabelText<'a>,
    pub(super) value: MilliValue,
}

/// The value of a series.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeriesValue<'a> {
    /// `hpa` or `service`.
    pub(super) key: &'static str,
    /// The name of that.
    pub(super) name: &'a str,
    /// What an HPA scales, and then its Services.
    pub(super) labels: LabelText<'a>,
    pub(super) value: MilliValue,
}

impl<'a> MetricValues<'a> {
    pub(super) fn new(config: &Config, sources: MetricSources<'a>, metric: ServedMetric) -> Result<Self, StatusError> {
        match metric {
            ServedMetric::Replicas(replicas) => {
                let (snapshot, as_of) = fresh(config, sources.picture)?;
                Ok(Self {
                    of: ValueSource::Replicas(replicas, snapshot),
                    as_of,
                    window: None,
                })
            }
            ServedMetric::Requests(requests, _) => {
                let shares = known(sources.rates)?;
                let of = ValueSource::Requests(requests, shares, sources.picture.snapshot());
                Ok(Self {
                    of,
                    as_of: shares.as_of,
                    window: Some(shares.window),
                })
            }
        }
    }

    /// The value of one object.
    pub(super) fn object(&self, section: &str, namespace: &str, name: &str) -> Option<MilliValue> {
        let of = format!("{namespace}/{name}");
        match self.of {
            ValueSource::Replicas(what, snapshot) => {
                MilliValue::of_load(snapshot.section(section)?.find(&of)?.load, what)
            }
            ValueSource::Requests(what, shares, snapshot) => {
                let is_there = || {
                    snapshot
                        .and_then(|snapshot| snapshot.section(section)?.find(&of))
                        .is_some()
                };
                let rate = shares.services.get(&of).copied();
                let rate = rate.or_else(|| is_there().then_some(Rate::NONE))?;
                MilliValue::of_rate(rate, what)
            }
        }
    }

    /// All objects of a namespace. A Service that had requests and is not in the snapshot has no labels that are known,
    /// and is there only `with_strangers`.
    pub(super) fn objects(&self, section: &str, namespace: &str, with_strangers: bool) -> Vec<ObjectValue<'a>> {
        let rows = |snapshot: &'a Snapshot| snapshot.section(section).map(|section| section.namespace(namespace));
        match self.of {
            ValueSource::Replicas(what, snapshot) => {
                let object = |(name, entry): (_, burst_model::snapshot::Entry<'a>)| {
                    let value = MilliValue::of_load(entry.load, what)?;
                    Some(ObjectValue {
                        name,
                        labels: entry.labels,
                        value,
                    })
                };
                rows(snapshot).into_iter().flatten().filter_map(object).collect()
            }
            ValueSource::Requests(what, shares, snapshot) => {
                let rate = |of| shares.services.get(of).copied().unwrap_or(Rate::NONE);
                let known = snapshot.and_then(rows).into_iter().flatten();
                let known = known.map(|(name, entry)| (name, entry.labels, rate(entry.of)));
                let strangers = strangers(shares, snapshot, namespace).filter(|_| with_strangers);
                let strangers = strangers.map(|(name, rate)| (name, LabelText::default(), rate));
                let object = |(name, labels, rate)| {
                    let value = MilliValue::of_rate(rate, what)?;
                    Some(ObjectValue { name, labels, value })
                };
                known.chain(strangers).filter_map(object).collect()
            }
        }
    }

    /// The sum over a namespace; `None` where there is nothing to sum up.
    pub(super) fn namespace(&self, namespace: &str) -> Option<MilliValue> {
        match self.of {
            ValueSource::Replicas(what, snapshot) => {
                let rows = snapshot.section(SERIES)?.namespace(namespace);
                let sum = rows.map(|(_, entry)| entry.load).reduce(|a, b| Load {
                    current: a.current.saturating_add(b.current),
                    target: a.target.saturating_add(b.target),
                    max: a.max.saturating_add(b.max),
                });
                MilliValue::of_load(sum?, what)
            }
            ValueSource::Requests(what, shares, snapshot) => {
                let rows = snapshot.and_then(|snapshot| snapshot.section(SERVICES)).into_iter();
                let known = rows.flat_map(|section| section.namespace(namespace));
                let known = known.map(|(_, entry)| shares.services.get(entry.of).copied().unwrap_or(Rate::NONE));
                let strangers = strangers(shares, snapshot, namespace).map(|(_, rate)| rate);
                let sum = known.chain(strangers).reduce(|a, b| Rate {
                    requests_milli: a.requests_milli.saturating_add(b.requests_milli),
                    rejected_milli: a.rejected_milli.saturating_add(b.rejected_milli),
                    in_flight_milli: a
                        .in_flight_milli
                        .zip(b.in_flight_milli)
                        .map(|(a, b)| a.saturating_add(b)),
                });
                MilliValue::of_rate(sum?, what)
            }
        }
    }

    /// The sums over all namespaces in which there is anything to sum up, by name.
    pub(super) fn namespaces(&self) -> Vec<(&'a str, MilliValue)> {
        let mut names = BTreeSet::new();
        match self.of {
            ValueSource::Replicas(_, snapshot) => names.extend(namespaces_of(snapshot, SERIES)),
            ValueSource::Requests(_, shares, snapshot) => {
                names.extend(
                    snapshot
                        .into_iter()
                        .flat_map(|snapshot| namespaces_of(snapshot, SERVICES)),
                );
                names.extend(shares.services.keys().filter_map(|of| namespace_of(of)));
            }
        }
        let sum = |name| Some((name, self.namespace(name)?));
        names.into_iter().filter_map(sum).collect()
    }

    /// The series of a namespace.
    pub(super) fn series(&self, namespace: &str) -> Vec<SeriesValue<'a>> {
        let (section, key) = match self.of {
            ValueSource::Replicas(..) => (SERIES, "hpa"),
            ValueSource::Requests(..) => (SERVICES, "service"),
        };
        let objects = self.objects(section, namespace, true).into_iter();
        // The labels of a Service itself are not those of a series.
        let own = |labels| if key == "hpa" { labels } else { LabelText::default() };
        objects
            .map(|ObjectValue { name, labels, value }| SeriesValue {
                key,
                name,
                labels: own(labels),
                value,
            })
            .collect()
    }
}

fn namespaces_of<'a>(snapshot: &'a Snapshot, section: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    let rows = snapshot.section(section).into_iter().flat_map(Section::rows);
    rows.filter_map(|entry| namespace_of(entry.of))
}

fn namespace_of(object: &str) -> Option<&str> {
    object.split_once('/').map(|(namespace, _)| namespace)
}

/// Services of a namespace that had requests and are not in the snapshot.
fn strangers<'a>(
    shares: &'a Shares,
    snapshot: Option<&'a Snapshot>,
    namespace: &str,
) -> impl Iterator<Item = (&'a str, Rate)> {
    let prefix = format!("{namespace}/");
    let section = snapshot.and_then(|snapshot| snapshot.section(SERVICES));
    let from = shares.services.range(prefix.clone()..);
    from.map_while(move |(of, rate)| Some((of, of.strip_prefix(&prefix)?, *rate)))
        .filter(move |(of, ..)| section.is_none_or(|section| section.find(of).is_none()))
        .map(|(_, name, rate)| (name, rate))
}

fn fresh<'a>(config: &Config, picture: &'a Picture) -> Result<(&'a Snapshot, Time), StatusError> {
    match (picture.freshness(), picture.snapshot(), picture.as_of()) {
        (Freshness::Fresh, Some(snapshot), Some(as_of)) => Ok((snapshot, as_of)),
        (Freshness::Stale(age), ..) => Err(stale("snapshot is", age, config.max_staleness)),
        _ => Err(StatusError::unavailable(
            "snapshot is not there yet: the Kubernetes API was never read in full",
        )),
    }
}

fn known(rates: &Rates) -> Result<&Shares, StatusError> {
    match rates {
        Rates::Known(shares) => Ok(shares),
        Rates::Stale { age, limit } => Err(stale("counts of requests are", *age, *limit)),
        Rates::Unknown => Err(StatusError::unavailable(
            "requests were not counted for a whole window yet",
        )),
    }
}

fn stale(what: &str, age: Duration, limit: Duration) -> StatusError {
    StatusError::unavailable(format!("{what} {}s old (limit {}s)", age.as_secs(), limit.as_secs()))
}
