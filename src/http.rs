//! The HTTP context: the header on the way back, and replies of the proxy's own.

use crate::host;
use crate::metrics_apis::{self, Taken, Waiting};
use crate::requests::{self, Counter, UnderWay};
use crate::stats::Stats;
use crate::vm;
use burst_model::config::{Config, Requests, Upstream};
use burst_model::name::ObjectName;
use burst_model::policies::Enforced;
use burst_model::rates::Latest;
use burst_model::records::CountKeys;
use burst_model::upstream::{Hints, IstioService};
use burst_model::view::burst;
use burst_model::view::{Absence, Answer, Picture};
use proxy_wasm::traits::{Context, HttpContext};
use proxy_wasm::types::Action;
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

/// What a root context and its HTTP contexts look at together.
pub(crate) struct View {
    pub(crate) config: Rc<Config>,
    pub(crate) picture: RefCell<Picture>,
    /// What the proxies count of requests, as of the last tick.
    pub(crate) rates: RefCell<Latest>,
    /// What other adapters have, as of the last tick.
    pub(crate) others: RefCell<metrics_apis::Known>,
    /// What is asked of the API server about requests for metrics.
    pub(crate) reviews: metrics_apis::Desk,
    /// The policies that are objects.
    pub(crate) enforced: RefCell<Enforced>,
    counter: Option<Rc<Counter>>,
}

impl View {
    pub(crate) fn new(config: Config) -> Self {
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
            reviews: metrics_apis::Desk::default(),
            enforced: RefCell::default(),
        }
    }

    /// The counter of the requests and the settings of it, where they are counted.
    pub(crate) fn counting(&self) -> Option<(&Rc<Counter>, &Requests)> {
        Some((self.counter.as_ref()?, self.config.requests.as_deref()?))
    }
}

/// One stream.
pub(crate) struct Http {
    context_id: u32,
    /// None where the root context is already done, and the stream is passed through.
    view: Option<Rc<View>>,
    stats: Rc<Stats>,
    /// Whether the request lacks the header that the gate asks for. A request that this filter never saw does.
    gated: bool,
    /// Whether the response is a reply of this filter's, which Envoy sends through the filter like any other, or one of
    /// the metrics APIs.
    own_reply: bool,
    /// The request, where it is counted while it is under way.
    under_way: Option<UnderWay>,
    /// While a request for metrics waits for a review.
    waiting: Option<Waiting>,
}

impl Http {
    pub(crate) fn new(context_id: u32, view: Option<Rc<View>>) -> Self {
        let gated = view.as_ref().is_some_and(|view| view.config.header.gate.is_some());
        Self {
            context_id,
            view,
            stats: vm::stats(),
            gated,
            own_reply: false,
            under_way: None,
            waiting: None,
        }
    }

    /// Takes a request on the filter chain of the metrics APIs, if it is one. None of their responses is marked.
    fn take_metrics_apis(&mut self, view: &Rc<View>) -> Option<Action> {
        let taken = metrics_apis::take(view, self.context_id)?;
        self.own_reply = true;
        match taken {
            Taken::Answered(answer) => self.reply(&answer),
            Taken::Passed => return Some(Action::Continue),
            Taken::Waits(waiting) => self.waiting = Some(waiting),
        }
        Some(Action::Pause)
    }

    /// Takes a request on the filter chain of the reports; whether it was one.
    fn take_report(&mut self, view: &View) -> bool {
        if let Some(Answer { status, headers, body }) = requests::take(&view.config, &self.stats) {
            self.own_reply = true;
            host::reply(status, &headers, &body);
        }
        self.own_reply
    }

    /// Answers a request for the endpoints; whether it was one.
    fn answer(&mut self, view: &View) -> bool {
        let Some(endpoints) = &view.config.endpoints else {
            return false;
        };
        let path = host::request_header(":path").unwrap_or_default();
        if !burst::is_own(endpoints, &path) {
            return false;
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
        let answer = burst::answer(&view.config, endpoints, &mut view.picture.borrow_mut(), request);
        if let Some(answer) = &answer {
            self.reply(answer);
        }
        self.own_reply
    }

    fn reply(&mut self, answer: &Answer) {
        self.own_reply = true;
        metrics_apis::reply(&self.stats, answer);
    }

    fn pass_gate(&mut self, config: &Config) {
        if let Some(gate) = &config.header.gate {
            self.gated = !host::request_header(&gate.name).is_some_and(|value| value.starts_with(&gate.prefix));
        }
    }

    /// Counts the request as under way.
    fn begin(&mut self, view: &View) {
        if let Some((counter, Requests { in_flight: true, .. })) = view.counting() {
            let cluster = host::cluster_name().unwrap_or_default();
            self.under_way = counter.clone().begin(&view.config.upstreams, &cluster, &Proxy);
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
    fn header(view: &View, cluster: &Cluster) -> Result<Rc<str>, Absence> {
        let cluster = cluster.name().ok_or(Absence::NoCluster)?;
        view.picture.borrow_mut().header(&view.config, cluster, &Proxy)
    }

    fn mark_response(&self, view: &View, cluster: &Cluster) {
        let header = &view.config.header;
        if header.upstream == Upstream::Keep && host::has_response_header(&header.name) {
            return self.stats.header_upstream_kept.count();
        }
        if self.gated {
            self.stats.header_gated.count();
            return host::set_response_header(&header.name, None);
        }
        match Self::header(view, cluster) {
            Ok(value) => {
                self.stats.header_added.count();
                host::set_response_header(&header.name, Some(&value));
            }
            Err(absence) => {
                self.stats.count_absence(absence);
                host::set_response_header(&header.name, None);
            }
        }
    }
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

impl Context for Http {}

impl HttpContext for Http {
    // Not called in the header-only module, which does not export it (xtask/src/artifact.rs); what answers requests is
    // not in it either.
    fn on_http_request_headers(&mut self, _count: usize, _end_of_stream: bool) -> Action {
        if cfg!(feature = "header-only") {
            return Action::Continue;
        }
        let Some(view) = self.view.clone() else {
            return Action::Continue;
        };
        #[cfg(feature = "test-trap")]
        if host::request_header("x-burst-test-trap").is_some() {
            host::trap();
        }
        if let Some(action) = self.take_metrics_apis(&view) {
            return action;
        }
        if self.take_report(&view) || self.answer(&view) {
            return Action::Pause;
        }
        self.begin(&view);
        self.pass_gate(&view.config);
        Action::Continue
    }

    fn on_http_response_headers(&mut self, _count: usize, _end_of_stream: bool) -> Action {
        if let Some(view) = self.view.as_deref().filter(|_| !self.own_reply) {
            let cluster = Cluster::default();
            Self::count_response(view, &cluster);
            self.mark_response(view, &cluster);
        }
        Action::Continue
    }
}
