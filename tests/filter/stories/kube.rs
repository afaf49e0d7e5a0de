//! A minimal Kubernetes API for these tests. It serves applications, each with a Deployment, a Service and an HPA of
//! the same name, and a pod if a test gives it an address.

use crate::host::{Answer, Callout, Response};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

type Failure = Box<dyn Fn() -> Answer + Send>;

#[derive(Clone, Default)]
pub(super) struct Kube(Arc<Mutex<State>>);

/// The phase of reading a resource that a request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadPhase {
    /// The first page of a list.
    FirstPage,
    /// A later page of a list.
    LaterPage,
    /// A watch.
    Watch,
}

#[derive(Default)]
struct State {
    apps: BTreeMap<String, Load>,
    /// The applications that changed. Each change is a resource version.
    changes: Vec<String>,
    failures: BTreeMap<&'static str, (Option<ReadPhase>, Failure)>,
    requests: Vec<String>,
}

#[derive(Clone, Copy)]
struct Load {
    current: u32,
    max: u32,
    /// The ready replicas, and the utilization of the CPU in percent of its target.
    status: Option<(u32, u32)>,
    /// The address of the one pod, which is ready.
    address: Option<&'static str>,
}

impl Load {
    const fn new(current: u32, max: u32) -> Self {
        Self {
            current,
            max,
            status: None,
            address: None,
        }
    }

    /// An application that is gone. Its objects have only their names.
    const GONE: Self = Self {
        address: Some("0.0.0.0"),
        ..Self::new(0, 1)
    };
}

impl Kube {
    /// A cluster with one application, `shop/web`, at 1 of 5 replicas.
    pub(super) fn new() -> Self {
        Self::default().with("shop/web", 1, 5)
    }

    pub(super) fn with(self, app: &str, current: u32, max: u32) -> Self {
        self.state().apps.insert(app.into(), Load::new(current, max));
        self
    }

    pub(super) fn scale(&self, app: &str, current: u32) {
        let mut state = self.state();
        state.apps.get_mut(app).unwrap().current = current;
        state.changes.push(app.into());
    }

    /// Sets the address of the application's pod.
    pub(super) fn set_address(&self, app: &str, address: &'static str) {
        let mut state = self.state();
        state.apps.get_mut(app).unwrap().address = Some(address);
        state.changes.push(app.into());
    }

    /// Sets the ready replicas, and the utilization of the CPU in percent of its target.
    pub(super) fn set_status(&self, app: &str, ready: u32, utilization: u32) {
        let mut state = self.state();
        state.apps.get_mut(app).unwrap().status = Some((ready, utilization));
        state.changes.push(app.into());
    }

    pub(super) fn delete(&self, app: &str) {
        let mut state = self.state();
        state.apps.remove(app);
        state.changes.push(app.into());
    }

    /// Makes every request for a resource fail, until [`Self::heal`].
    pub(super) fn fail<A: Into<Answer>>(&self, resource: &'static str, answer: impl Fn() -> A + Send + 'static) {
        self.fail_where(resource, None, answer);
    }

    /// Makes only the requests in that phase fail.
    pub(super) fn fail_at<A: Into<Answer>>(
        &self,
        resource: &'static str,
        phase: ReadPhase,
        answer: impl Fn() -> A + Send + 'static,
    ) {
        self.fail_where(resource, Some(phase), answer);
    }

    fn fail_where<A: Into<Answer>>(
        &self,
        resource: &'static str,
        phase: Option<ReadPhase>,
        answer: impl Fn() -> A + Send + 'static,
    ) {
        let failure: Failure = Box::new(move || answer().into());
        self.state().failures.insert(resource, (phase, failure));
    }

    pub(super) fn heal(&self) {
        self.state().failures.clear();
    }

    /// All objects of a resource as events, with the bookmark that ends them, and their resource version.
    pub(super) fn initial_events(&self, resource: &str) -> (String, usize) {
        let state = self.state();
        (state.initial_events(resource), state.changes.len())
    }

    /// The events of a resource since a resource version, with a bookmark, and the version after them.
    pub(super) fn events_since(&self, resource: &str, version: usize) -> (String, usize) {
        let state = self.state();
        (state.watch(resource, version), state.changes.len())
    }

    /// Notes a request that the test answers.
    pub(super) fn note_request(&self, callout: &Callout) {
        let (path, query) = callout.path().split_once('?').unwrap();
        check_accept(callout, path.rsplit('/').next().unwrap(), query);
        self.state().requests.push(callout.path().to_owned());
    }

    /// The paths requested since the last call.
    pub(super) fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut self.state().requests)
    }

    pub(super) fn answer(&self, callout: &Callout) -> Answer {
        let mut state = self.state();
        state.requests.push(callout.path().to_owned());
        let (path, query) = callout.path().split_once('?').unwrap();
        let resource = path.rsplit('/').next().unwrap();
        check_accept(callout, resource, query);
        let failure = state.failures.get(resource);
        if let Some((_, failure)) = failure.filter(|(at, _)| at.is_none_or(|at| at == phase_of(query))) {
            return failure();
        }
        let number = |key: &str| {
            query
                .split('&')
                .find_map(|pair| pair.strip_prefix(key)?.parse::<usize>().ok())
        };
        if query.contains("watch=1") {
            return Response::json(state.watch(resource, number("resourceVersion=").unwrap())).into();
        }
        let (limit, from) = (number("limit=").unwrap(), number("continue=").unwrap_or(0));
        let items: Vec<_> = state
            .apps
            .iter()
            .skip(from)
            .take(limit)
            .map(|(app, load)| item(resource, app, *load))
            .collect();
        let rest = state.apps.len() > from + limit;
        let continue_token = if rest {
            format!(r#","continue":"{}""#, from + limit)
        } else {
            String::new()
        };
        Response::json(list_of(resource, state.changes.len(), &continue_token, &items.concat())).into()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

impl State {
    /// A watch, which this server ends as soon as it has sent all events.
    fn watch(&self, resource: &str, from: usize) -> String {
        let event = |app: &String| match self.apps.get(app) {
            Some(load) => ("MODIFIED", item(resource, app, *load)),
            None => ("DELETED", item(resource, app, Load::GONE)),
        };
        let version = self.changes.len();
        let events = self
            .changes
            .iter()
            .skip(from)
            .map(event)
            .filter(|(_, item)| !item.is_empty());
        let lines = events.map(|(r#type, item)| {
            let object = self.versioned(&item);
            self::event(r#type, &object)
        });
        let bookmark = format!(r#"{{"metadata":{{"resourceVersion":"{version}"}}}}"#);
        lines.collect::<String>() + &self::event("BOOKMARK", &bookmark)
    }

    fn initial_events(&self, resource: &str) -> String {
        let items = self.apps.iter().map(|(app, load)| item(resource, app, *load));
        let events = items.filter(|item| !item.is_empty());
        let lines: String = events.map(|item| event("ADDED", &self.versioned(&item))).collect();
        let end = r#"{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}"#;
        lines + &event("BOOKMARK", &self.versioned(end))
    }

    /// An item of a list as an object with the current resource version.
    fn versioned(&self, item: &str) -> String {
        let version = self.changes.len();
        item.trim_end_matches(',').replacen(
            r#""metadata":{"#,
            &format!(r#""metadata":{{"resourceVersion":"{version}","#),
            1,
        )
    }
}

/// One line of a watch.
pub(super) fn event(r#type: &str, object: &str) -> String {
    format!("{{\"type\":\"{type}\",\"object\":{object}}}\n")
}

fn phase_of(query: &str) -> ReadPhase {
    if query.contains("watch=1") {
        ReadPhase::Watch
    } else if query.contains("continue=") {
        ReadPhase::LaterPage
    } else {
        ReadPhase::FirstPage
    }
}

/// Of pods the filter asks for nothing but the metadata.
fn check_accept(callout: &Callout, resource: &str, query: &str) {
    let wanted = match (resource, query.contains("watch=1")) {
        ("pods", true) => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        ("pods", false) => "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
        _ => "application/json",
    };
    let accept = callout.headers.first("accept").map(String::from_utf8_lossy);
    assert_eq!(accept.as_deref(), Some(wanted), "{resource}?{query}");
}

/// The kind of a resource, as its lists have it.
fn kind(resource: &str) -> &'static str {
    match resource {
        "horizontalpodautoscalers" => "HorizontalPodAutoscaler",
        "services" => "Service",
        "deployments" => "Deployment",
        "statefulsets" => "StatefulSet",
        "endpointslices" => "EndpointSlice",
        "pods" => "PartialObjectMetadata",
        other => panic!("the filter asked for {other}"),
    }
}

pub(super) fn list(resource: &str, more: &str, items: &str) -> String {
    list_of(resource, 0, more, items)
}

fn list_of(resource: &str, version: usize, more: &str, items: &str) -> String {
    let (kind, items) = (kind(resource), items.trim_end_matches(','));
    let metadata = format!(r#"{{"resourceVersion":"{version}"{more}}}"#);
    format!(r#"{{"kind":"{kind}List","apiVersion":"v1","metadata":{metadata},"items":[{items}]}}"#)
}

fn item(resource: &str, app: &str, load: Load) -> String {
    let Load {
        current,
        max,
        status,
        address,
    } = load;
    let (namespace, name) = app.split_once('/').unwrap();
    let metadata = format!(r#""metadata":{{"name":"{name}","namespace":"{namespace}"}}"#);
    let labels = format!(r#"{{"app":"{name}"}}"#);
    match resource {
        "horizontalpodautoscalers" => {
            let target = format!(r#"{{"apiVersion":"apps/v1","kind":"Deployment","name":"{name}"}}"#);
            let cpu = |values: &str| format!(r#"[{{"type":"Resource","resource":{{"name":"cpu",{values}}}}}]"#);
            let metrics = cpu(r#""target":{"type":"Utilization","averageUtilization":100}"#);
            let seen = status.map_or("null".to_owned(), |(_, utilization)| {
                cpu(&format!(r#""current":{{"averageUtilization":{utilization}}}"#))
            });
            let conditions = r#"[{"type":"AbleToScale","status":"True"}]"#;
            let spec = format!(r#"{{"scaleTargetRef":{target},"maxReplicas":{max},"metrics":{metrics}}}"#);
            let status = format!(
                r#"{{"currentReplicas":{current},"desiredReplicas":{current},"currentMetrics":{seen},"conditions":{conditions}}}"#
            );
            format!(r#"{{{metadata},"spec":{spec},"status":{status}}},"#)
        }
        "services" => format!(r#"{{{metadata},"spec":{{"selector":{labels}}}}},"#),
        "deployments" => {
            let spec = format!(r#"{{"template":{{"metadata":{{"labels":{labels}}}}}}}"#);
            let status = match status {
                Some((ready, _)) => format!(r#"{{"readyReplicas":{ready}}}"#),
                None => "{}".to_owned(),
            };
            format!(r#"{{{metadata},"spec":{spec},"status":{status}}},"#)
        }
        "endpointslices" => address.map_or_else(String::new, |address| {
            let target = format!(r#"{{"kind":"Pod","namespace":"{namespace}","name":"{name}-0"}}"#);
            let endpoint =
                format!(r#"{{"addresses":["{address}"],"conditions":{{"ready":true}},"targetRef":{target}}}"#);
            format!(r#"{{{metadata},"addressType":"IPv4","endpoints":[{endpoint}]}},"#)
        }),
        "pods" => address.map_or_else(String::new, |_| {
            format!(r#"{{"metadata":{{"name":"{name}-0","namespace":"{namespace}","labels":{labels}}}}},"#)
        }),
        _ => String::new(),
    }
}
