//! What is done with a request and with its response: replies of the proxy's own, and the header on the way back.

use crate::host;
use crate::metrics_apis::{self, Taken, Waiting};
use crate::quarantine::Quarantine;
use crate::requests::{self, Counter, UnderWay};
use crate::vm::{self, BulkPermit};
use burst_model::config::{Config, RequestsConfig, UpstreamHeader};
use burst_model::name::ObjectName;
use burst_model::policies::EffectivePolicies;
use burst_model::rates::Latest;
use burst_model::records::{CountKeys, Keys};
use burst_model::upstream::{Hints, IstioService};
use burst_model::view::burst;
use burst_model::view::{Absence, Answer, Picture};
use proxy_wasm::types::Action;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

/// What a root context and its HTTP contexts look at together.
pub(crate) struct View {
    pub(crate) config: Rc<Config>,
    pub(crate) picture: RefCell<Picture>,
    /// What the proxies count of requests, as of the last tick.
    pub(crate) rates: RefCell<Latest>,
    /// What other adapters have, as of the last tick.
    pub(crate) others: RefCell<metrics_apis::Known>,
    /// Whether the log tells already that requests for metrics come without mutual TLS.
    pub(crate) told_insecure: Cell<bool>,
    /// What is asked of the API server about requests for metrics.
    pub(crate) reviews: metrics_apis::Desk,
    /// The policies that are objects.
    pub(crate) enforced: RefCell<EffectivePolicies>,
    /// The hash of their record.
    pub(crate) policies: Cell<u64>,
    /// What is taken from shared data is taken under its marks.
    pub(crate) quarantine: Quarantine,
    counter: Option<Rc<Counter>>,
}

impl View {
    pub(crate) fn new(config: Config, keys: &Keys) -> Self {
        let counter = config.requests.as_ref().map(|requests| {
            let counting = config.counting_hash();
            let make = || Counter::new(CountKeys::new(counting), requests.window, host::now());
            vm::counter(counting, make)
        });
        Self {
            counter,
            config: Rc::new(config),
            picture: RefCell::default(),
            rates: RefCell::default(),
            others: RefCell::default(),
            told_insecure: Cell::default(),
            reviews: metrics_apis::Desk::default(),
            enforced: RefCell::default(),
            policies: Cell::default(),
            quarantine: Quarantine::new(keys),
        }
    }

    /// The counter of the requests and the settings of it, where they are counted.
    pub(crate) fn counting(&self) -> Option<(&Rc<Counter>, &RequestsConfig)> {
        Some((self.counter.as_ref()?, self.config.requests.as_deref()?))
    }
}

/// What is remembered of a stream from its request to its end, where there is anything.
#[derive(Default)]
pub(crate) struct Remembered {
    /// Whether the request has the header that the gate asks for. One that this filter never saw has not.
    passed_gate: bool,
    /// Whether the response is a reply of this filter's, which Envoy sends through the filter like any other, or one of
    /// the metrics APIs.
    own_reply: bool,
    /// The request, where it is counted while it is under way.
    #[expect(dead_code, reason = "held until it is dropped")]
    under_way: Option<UnderWay>,
    /// While a request for metrics waits for a review.
    waiting: Option<Waiting>,
    /// Where the reply is a bulk one.
    bulk: Option<BulkPermit>,
}

impl Remembered {
    fn own_reply(bulk: Option<BulkPermit>) -> Self {
        Self {
            own_reply: true,
            bulk,
            ..Self::default()
        }
    }

    /// A reply to a request that waited is under way; what it waited with.
    pub(crate) fn wait_no_more(&mut self, bulk: Option<BulkPermit>) -> Option<Waiting> {
        self.bulk = bulk;
        self.waiting.take()
    }
}

/// Replies to the current stream; what the stream has to hold for as long as the reply is under way. Where there is no room
/// for a bulk reply, `busy` says what to reply instead.
pub(crate) fn reply(answer: &Answer, busy: impl FnOnce() -> Answer) -> Option<BulkPermit> {
    let Some(size) = answer.bulk_size() else {
        send(answer);
        return None;
    };
    let permit = vm::permit_bulk(size);
    if permit.is_some() {
        send(answer);
    } else {
        vm::stats().count_rejected_bulk();
        send(&busy());
    }
    permit
}

fn send(Answer { status, headers, body }: &Answer) {
    vm::stats().count_reply(*status);
    host::reply(*status, headers, body);
}

/// Takes the current request, of that stream: what is to be remembered of it, and whether it goes on.
pub(crate) fn take_request(view: &Rc<View>, stream: u32) -> (Option<Remembered>, Action) {
    #[cfg(feature = "test-trap")]
    if host::request_header("x-burst-test-trap").is_some() {
        host::trap();
    }
    if let Some((remembered, action)) = take_metrics_apis(view, stream) {
        return (Some(remembered), action);
    }
    if take_report(view) {
        return (Some(Remembered::own_reply(None)), Action::Pause);
    }
    if let Some(Replied(bulk)) = answer(view) {
        return (Some(Remembered::own_reply(bulk)), Action::Pause);
    }
    let under_way = begin(view);
    let passed_gate = passes_gate(&view.config);
    let remembered = (passed_gate || under_way.is_some()).then(|| Remembered {
        passed_gate,
        under_way,
        ..Remembered::default()
    });
    (remembered, Action::Continue)
}

/// Takes a request on the filter chain of the metrics APIs, if it is one. None of their responses is marked.
fn take_metrics_apis(view: &Rc<View>, stream: u32) -> Option<(Remembered, Action)> {
    let taken = metrics_apis::take(view, stream)?;
    let mut remembered = Remembered::own_reply(None);
    let action = match taken {
        Taken::Answered(answer) => {
            remembered.bulk = metrics_apis::reply(&answer);
            Action::Pause
        }
        Taken::Passed => Action::Continue,
        Taken::Waits(waiting) => {
            remembered.waiting = Some(waiting);
            Action::Pause
        }
    };
    Some((remembered, action))
}

/// Takes a request on the filter chain of the reports; whether it was one.
fn take_report(view: &View) -> bool {
    let answer = requests::take(&view.config, &vm::stats());
    if let Some(Answer { status, headers, body }) = &answer {
        host::reply(*status, headers, body);
    }
    answer.is_some()
}

/// The request was replied to.
struct Replied(Option<BulkPermit>);

/// Answers a request for the endpoints, if it is one.
fn answer(view: &View) -> Option<Replied> {
    let endpoints = view.config.endpoints.as_ref()?;
    let path = host::request_header(":path").unwrap_or_default();
    if !burst::is_own(endpoints, &path) {
        return None;
    }
    let [method, host] = [":method", ":authority"].map(|name| host::request_header(name).unwrap_or_default());
    let if_none_match = host::request_header("if-none-match");
    let if_none_match = if_none_match.as_deref();
    let request = burst::Request {
        method: &method,
        path: &path,
        host: &host,
        if_none_match,
        now: host::now(),
    };
    let answer = burst::answer(&view.config, endpoints, &mut view.picture.borrow_mut(), request)?;
    if method == b"HEAD" {
        send(&answer);
        return Some(Replied(None));
    }
    Some(Replied(reply(&answer, || burst::busy(&answer))))
}

fn passes_gate(config: &Config) -> bool {
    let gate = config.header.condition.as_ref();
    gate.is_some_and(|gate| host::request_header(&gate.name).is_some_and(|value| value.starts_with(&gate.prefix)))
}

/// Counts the request as under way.
fn begin(view: &View) -> Option<UnderWay> {
    let (counter, RequestsConfig { in_flight: true, .. }) = view.counting()? else {
        return None;
    };
    let cluster = host::cluster_name().unwrap_or_default();
    counter.clone().begin(&view.config.upstreams, &cluster, &Proxy)
}

/// Marks the current response, of a stream of which this is remembered, unless it is a reply of this filter's.
pub(crate) fn mark_response(view: &View, remembered: Option<&Remembered>) {
    if remembered.is_some_and(|remembered| remembered.own_reply) {
        return;
    }
    let passed_gate = remembered.is_some_and(|remembered| remembered.passed_gate);
    let cluster = Cluster::default();
    count_response(view, &cluster);
    let (header, stats) = (&view.config.header, vm::stats());
    if header.upstream == UpstreamHeader::Keep && host::has_response_header(&header.name) {
        return stats.header_upstream_kept.count();
    }
    if header.condition.is_some() && !passed_gate {
        stats.header_gated.count();
        return host::set_response_header(&header.name, None);
    }
    match value(view, &cluster) {
        Ok(value) => {
            stats.header_added.count();
            host::set_response_header(&header.name, Some(&value));
        }
        Err(absence) => {
            stats.count_absence(absence);
            host::set_response_header(&header.name, None);
        }
    }
}

/// Counts the response of that cluster.
fn count_response(view: &View, cluster: &Cluster) {
    if let Some((counter, _)) = view.counting()
        && let Some(cluster) = cluster.name()
    {
        let status = host::response_header(":status").unwrap_or_default();
        counter.answered(&view.config.upstreams, cluster, &Proxy, &status);
    }
}

/// The header of the response, or why there is none.
fn value(view: &View, cluster: &Cluster) -> Result<Rc<str>, Absence> {
    let cluster = cluster.name().ok_or(Absence::NoCluster)?;
    view.picture.borrow_mut().header(&view.config, cluster, &Proxy)
}

/// The cluster that the response comes from; Envoy is asked for its name at most once.
#[derive(Default)]
struct Cluster(OnceCell<Option<Vec<u8>>>);

impl Cluster {
    fn name(&self) -> Option<&[u8]> {
        self.0.get_or_init(host::cluster_name).as_deref()
    }
}

/// What Istio tells of the cluster that the response comes from, and of the proxy itself.
struct Proxy;

impl Hints for Proxy {
    fn service(&self, place: usize) -> Option<IstioService> {
        const SERVICES: [&str; 5] = ["xds", "cluster_metadata", "filter_metadata", "istio", "services"];
        let place = place.to_string();
        let part = |name| host::text_property(&[&SERVICES[..], &[place.as_str(), name]].concat());
        Some(IstioService {
            host: part("host")?,
            name: part("name")?,
            namespace: part("namespace")?,
        })
    }

    fn owner(&self) -> Option<String> {
        host::text_property(&["xds", "node", "metadata", "OWNER"])
    }

    fn backend(&self) -> Option<ObjectName> {
        const LOCALITY: [&str; 3] = ["xds", "upstream_host_locality_metadata", "filter_metadata"];
        const RESOURCE: [&str; 3] = ["envoy-gateway", "resources", "0"];
        let part = |name| host::text_property(&[&LOCALITY[..], &RESOURCE, &[name]].concat());
        let is_service = part("kind")? == "Service";
        is_service.then(|| ObjectName::new(&part("namespace")?, &part("name")?).ok())?
    }
}
