//! Builds valid HPAs. The types rule out most mistakes at compile time, and [`Hpa::build`] reports the rest. The object has
//! only the fields that you set.
//!
//! # Minimal HPA
//! An HPA needs a target and a maximum. By default it has the name of its target.
//! ```
//! use burst_hpa::builder::{Hpa, ScaleTarget};
//!
//! let hpa = Hpa::new(ScaleTarget::deployment("bookstore-api"), 10).build()?.hpa;
//! assert_eq!(
//!     serde_json::to_value(hpa)?,
//!     serde_json::json!({
//!         "apiVersion": "autoscaling/v2",
//!         "kind": "HorizontalPodAutoscaler",
//!         "metadata": { "name": "bookstore-api" },
//!         "spec": {
//!             "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "bookstore-api" },
//!             "maxReplicas": 10,
//!         },
//!     })
//! );
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//! [`Hpa::defaulted`] also fills in the defaults of Kubernetes: at least one replica, and 80 % of the requested CPU.
//!
//! # Metrics
//! Each source accepts only these targets:
//!
//! | source | [`Utilization`] | [`AverageValue`] | [`Value`] |
//! |---|---|---|---|
//! | [`ResourceMetric`], [`ContainerResourceMetric`] | yes | yes | |
//! | [`PodsMetric`] | | yes | |
//! | [`ObjectMetric`], [`ExternalMetric`] | | yes | yes |
//!
//! ```
//! use burst_hpa::builder::*;
//! use burst_hpa::metric::Resource;
//!
//! let ingress = ObjectReference::new("networking.k8s.io/v1", "Ingress", "bookstore");
//! let hpa = Hpa::new(ScaleTarget::deployment("bookstore-api"), 10)
//!     .metric(ResourceMetric::new(Resource::Cpu, Utilization(50)))
//!     .metric(ResourceMetric::new(Resource::Memory, AverageValue::parse("64Mi")?))
//!     .metric(ContainerResourceMetric::new("bookstore-api-container", Resource::Cpu, AverageValue::new(25)))
//!     .metric(PodsMetric::new("transactions-processed-per-second", AverageValue::new(1000)))
//!     .metric(ObjectMetric::new(ingress, "hits-per-second", Value::new(1000)))
//!     .metric(
//!         ExternalMetric::new("dead-letter-queue-size", Value::new(1))
//!             .selector(Selector::new().label("queue", "orders").exists("region")),
//!     )
//!     .build()?
//!     .hpa;
//! # assert_eq!(hpa.spec.metrics.unwrap().len(), 6);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//! Utilization is a percentage of the requests, and a `Pods` metric has none. Kubernetes refuses the pair, so it does not
//! compile:
//! ```compile_fail,E0308
//! # use burst_hpa::builder::*;
//! PodsMetric::new("transactions-processed-per-second", Utilization(1000));
//! ```
//! The other pairs that Kubernetes refuses do not compile either:
//! ```compile_fail,E0308
//! # use burst_hpa::builder::*;
//! PodsMetric::new("transactions-processed-per-second", Value::new(1000));
//! ```
//! ```compile_fail,E0277
//! # use burst_hpa::builder::*;
//! ExternalMetric::new("dead-letter-queue-size", Utilization(50));
//! ```
//! ```compile_fail,E0277
//! # use burst_hpa::builder::*;
//! let ingress = ObjectReference::new("networking.k8s.io/v1", "Ingress", "bookstore");
//! ObjectMetric::new(ingress, "hits-per-second", Utilization(50));
//! ```
//! ```compile_fail,E0277
//! # use burst_hpa::{builder::*, metric::Resource};
//! ResourceMetric::new(Resource::Cpu, Value::new(1));
//! ```
//! ```compile_fail,E0277
//! # use burst_hpa::{builder::*, metric::Resource};
//! ContainerResourceMetric::new("app", Resource::Cpu, Value::new(1));
//! ```
//! A resource metric has no selector:
//! ```compile_fail,E0599
//! # use burst_hpa::{builder::*, metric::Resource};
//! ResourceMetric::new(Resource::Cpu, Utilization(50)).selector(Selector::new());
//! ```
//! The builder has no default metric names. A metrics adapter decides which names it serves, and any other name makes a
//! metric that always fails.
//!
//! # Behavior
//! ```
//! use std::time::Duration;
//!
//! use burst_hpa::builder::{Hpa, ScaleTarget, ScalingPolicy, ScalingRules};
//!
//! let half_a_minute = Duration::from_secs(30);
//! let hpa = Hpa::new(ScaleTarget::deployment("bookstore-api"), 10)
//!     .scale_down(ScalingRules::new().policy(ScalingPolicy::pods(5, half_a_minute)))
//!     .scale_up(ScalingRules::new().policy(ScalingPolicy::pods(5, half_a_minute)).window(Duration::ZERO))
//!     .build()?
//!     .hpa;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//! A policy is [`ScalingPolicy::pods`] or [`ScalingPolicy::percent`]. Kubernetes refuses every other type, such as
//! `MaxPods` and `MaxUnavailable`. [`ScalingRules::disabled`] disables a direction.
//!
//! Without rules, `behavior` stays unset, which differs from an empty `behavior`: the controller then uses an older
//! algorithm. At each sync it at most doubles the replicas, or scales to four if that is more. It scales down after five
//! minutes.
//!
//! # Status
//! You cannot set a status. kube-apiserver discards the status when a client creates or updates an object. Only the
//! controller writes it.
//! ```compile_fail,E0599
//! # use burst_hpa::builder::{Hpa, ScaleTarget};
//! Hpa::new(ScaleTarget::deployment("bookstore-api"), 10).desired_replicas(5);
//! ```
//! You can read a status, including its conditions and current metrics:
//! ```
//! use burst_hpa::status::{ConditionStatus, ConditionType, HpaStatus};
//! # use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
//! # let hpa: HorizontalPodAutoscaler = serde_json::from_value(serde_json::json!({"status": {
//! #     "currentReplicas": 4, "desiredReplicas": 5,
//! #     "conditions": [{"type": "AbleToScale", "status": "True", "reason": "SucceededRescale"}],
//! #     "currentMetrics": [{"type": "ContainerResource", "containerResource": {
//! #         "container": "bookstore-api-container", "name": "cpu", "current": {"averageValue": "25"}}}],
//! # }}))?;
//!
//! let status = HpaStatus::of(&hpa).ok_or("the controller has not synced this HPA yet")?;
//! assert_eq!(status.desired_replicas, 5);
//! assert_eq!(status.condition(&ConditionType::AbleToScale).unwrap().status, ConditionStatus::True);
//! assert_eq!(status.current_metrics[0].average_value, Some(25.into()));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod behavior;
mod build;
mod error;
mod metric;
mod selector;
mod target;

use std::collections::BTreeMap;

pub use behavior::{ScalingPolicy, ScalingRules};
pub use build::Built;
pub use error::{BuildError, BuildErrors};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
pub use metric::{
    AverageValue, ContainerResourceMetric, ExternalMetric, Metric, ObjectMetric, PodsMetric, ResourceMetric,
    ResourceTarget, SeriesTarget, Utilization, Value,
};
pub use selector::Selector;
pub use target::{ObjectReference, ScaleTarget};

use crate::options::Options;

/// A builder for a HorizontalPodAutoscaler. See the [module](self).
#[derive(Clone, Debug)]
#[must_use]
pub struct Hpa {
    target: ScaleTarget,
    metadata: ObjectMeta,
    min_replicas: Option<i32>,
    max_replicas: i32,
    metrics: Vec<Metric>,
    scale_up: Option<ScalingRules>,
    scale_down: Option<ScalingRules>,
    options: Options,
}

impl Hpa {
    /// Creates an HPA that scales `target` up to `max_replicas`. It has the name and namespace of the target.
    pub fn new(target: impl Into<ScaleTarget>, max_replicas: i32) -> Self {
        let target = target.into();
        let metadata = ObjectMeta {
            name: Some(target.name().to_owned()),
            namespace: target.namespace().map(str::to_owned),
            ..ObjectMeta::default()
        };
        Self {
            target,
            metadata,
            min_replicas: None,
            max_replicas,
            metrics: Vec::new(),
            scale_up: None,
            scale_down: None,
            options: Options::default(),
        }
    }

    /// Sets the name. The default is the name of the target.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.metadata.name = Some(name.into());
        self
    }

    /// Sets the namespace. [`build`](Self::build) fails if the target is an object in another namespace.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.metadata.namespace = Some(namespace.into());
        self
    }

    /// Adds a label.
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata
            .labels
            .get_or_insert_with(BTreeMap::new)
            .insert(key.into(), value.into());
        self
    }

    /// Adds an annotation.
    pub fn annotation(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata
            .annotations
            .get_or_insert_with(BTreeMap::new)
            .insert(key.into(), value.into());
        self
    }

    /// Sets the minimum number of replicas. The default of Kubernetes is 1. A minimum of 0 needs
    /// [`Options::scale_to_zero`] and an [`ObjectMetric`] or [`ExternalMetric`].
    pub fn min_replicas(mut self, min_replicas: i32) -> Self {
        self.min_replicas = Some(min_replicas);
        self
    }

    /// Adds a metric. With several metrics, the controller follows the one that needs the most replicas.
    pub fn metric(mut self, metric: impl Into<Metric>) -> Self {
        self.metrics.push(metric.into());
        self
    }

    /// Adds metrics of one type, such as a list of [`Metric`]s.
    ///
    /// ```
    /// use burst_hpa::builder::{AverageValue, Hpa, PodsMetric, ScaleTarget};
    ///
    /// let names = ["orders-per-second", "logins-per-second"];
    /// let hpa = Hpa::new(ScaleTarget::deployment("bookstore-api"), 10)
    ///     .metrics(names.map(|name| PodsMetric::new(name, AverageValue::new(100))));
    /// # assert_eq!(hpa.build()?.hpa.spec.metrics.unwrap().len(), 2);
    /// # Ok::<_, burst_hpa::builder::BuildErrors>(())
    /// ```
    pub fn metrics<M: Into<Metric>>(mut self, metrics: impl IntoIterator<Item = M>) -> Self {
        self.metrics.extend(metrics.into_iter().map(Into::into));
        self
    }

    /// Sets the rules for scaling up.
    pub fn scale_up(mut self, rules: ScalingRules) -> Self {
        self.scale_up = Some(rules);
        self
    }

    /// Sets the rules for scaling down.
    pub fn scale_down(mut self, rules: ScalingRules) -> Self {
        self.scale_down = Some(rules);
        self
    }

    /// Sets the feature gates and the version of the cluster. The default is Kubernetes 1.36.
    pub fn for_cluster(mut self, options: Options) -> Self {
        self.options = options;
        self
    }
}
