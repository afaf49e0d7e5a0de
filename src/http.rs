//! Handles a request and its response: replies of the filter itself, counting, and the header on the response.

use crate::degraded;
use crate::host::{self, CalloutAnswer};
use crate::load_report;
use crate::local_reply;
use crate::long_polls::{LongPollGuard, LongPolls};
use crate::metrics_apis::{Disposition, MetricsApis, PendingStream};
use crate::overflow::{Overflow, Route};
use crate::requests::{self, RequestCounter};
use crate::retry_after::RetryAfter;
use crate::shared_data::{InFlightRequest, View};
use crate::vm::{self, BulkPermit};
use burst_model::config::UpstreamHeader;
use burst_model::name::ObjectName;
use burst_model::serve::burst::{self, BurstReply, BurstRequest};
use burst_model::serve::orca::{self, OrcaRequest};
use burst_model::serve::{Absence, CachedUpstream};
use burst_model::time::Time;
use burst_model::upstream::{IstioService, UpstreamHints};
use proxy_wasm::types::Action;
use std::cell::OnceCell;
use std::rc::Rc;

/// What the response needs to know of its request.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) struct StreamFlags {
    /// The request has the header that `header.condition` asks for. The header-only module sees no request, so there it is false.
    has_gate_header: bool,
    /// Whether the request asks for a load report. The header-only module sees no request, so there it does not.
    orca_request: OrcaRequest,
    /// The response is a reply of this filter, which Envoy sends through the filter like any other, or one of the metrics
    /// APIs.
    is_own_reply: bool,
}

/// What is kept of a stream until its end.
#[derive(Default)]
pub(crate) struct StreamState {
    pub(crate) flags: StreamFlags,
    #[expect(dead_code, reason = "held until it is dropped")]
    in_flight: Option<InFlightRequest>,
    #[expect(dead_code, reason = "held until it is dropped")]
    held: Option<HeldStream>,
    #[expect(dead_code, reason = "held until it is dropped")]
    bulk: Option<BulkPermit>,
}

/// What a stream holds while its request waits.
#[expect(dead_code, reason = "held until they are dropped")]
enum HeldStream {
    /// For a SubjectAccessReview.
    Review(PendingStream),
    /// For a change.
    LongPoll(LongPollGuard),
}

impl StreamState {
    fn own_reply(bulk: Option<BulkPermit>, held: Option<HeldStream>) -> Self {
        Self {
            flags: StreamFlags {
                is_own_reply: true,
                ..StreamFlags::default()
            },
            bulk,
            held,
            in_flight: None,
        }
    }
}

/// Handles the streams of a root context.
pub(crate) struct Handler {
    view: Rc<View>,
    /// If requests are counted.
    counter: Option<Rc<RequestCounter>>,
    /// If the metrics APIs are configured.
    metrics_apis: Option<Rc<MetricsApis>>,
    long_polls: Rc<LongPolls>,
    retry_after: RetryAfter,
    overflow: Overflow,
}

impl Handler {
    /// `metrics_view` has what the metrics APIs need besides the snapshot.
    pub(crate) fn new(view: &Rc<View>, metrics_view: &Rc<View>) -> Self {
        Self {
            view: view.clone(),
            counter: requests::counter(&view.config),
            metrics_apis: MetricsApis::new(view, metrics_view).map(Rc::new),
            long_polls: Rc::default(),
            retry_after: RetryAfter::default(),
            overflow: Overflow::new(view),
        }
    }

    /// Called once a tick: publishes the request counts of this VM.
    pub(crate) fn tick(&self, now: Time) {
        if let (Some(counter), Some(requests)) = (&self.counter, &self.view.config.requests) {
            counter.tick(requests.report_interval, now);
            let uncounted = usize::try_from(counter.take_uncounted_addresses()).unwrap_or(usize::MAX);
            vm::stats().uncounted_endpoints.count_all(uncounted);
        }
    }

    /// Takes what the leader published for the metrics APIs, and notes whether requests can overflow.
    pub(crate) fn refresh(&self, now: Time) {
        self.overflow.refresh();
        if let Some(apis) = &self.metrics_apis {
            apis.refresh(now);
        }
    }

    /// Answers some of the requests that wait for a change, and have their answer. Returns whether there were any; the
    /// effective context is then that of a stream.
    pub(crate) fn answer_long_polls(&self, now: Time) -> bool {
        self.long_polls.answer(&self.view, now)
    }

    /// When to call [`Self::answer_long_polls`], if nothing changes before.
    pub(crate) fn next_long_poll(&self, now: Time) -> Option<Time> {
        self.long_polls.next_due(now)
    }

    /// Sends the SubjectAccessReviews that streams wait for, and answers some of the streams that have their result.
    pub(crate) fn send_reviews(&self) {
        if let Some(apis) = &self.metrics_apis {
            apis.send_reviews();
        }
    }

    /// Handles the answer to a SubjectAccessReview, or why it could not be sent.
    pub(crate) fn on_review(&self, review: &Rc<str>, answer: Result<CalloutAnswer, String>) {
        if let Some(apis) = &self.metrics_apis {
            apis.on_review(review, answer);
        }
    }

    /// Handles the current request, of this stream. Returns what to keep of the stream, and whether Envoy sends the request
    /// on.
    pub(crate) fn handle_request(&self, stream: u32) -> (Option<StreamState>, Action) {
        #[cfg(feature = "test-trap")]
        if host::request_header("x-burst-test-trap").is_some() {
            host::trap();
        }
        let origin = self.overflow.take_header();
        if let Some((state, action)) = self.handle_metrics_request(stream) {
            return (Some(state), action);
        }
        if let Some(reply) = requests::answer_report(&self.view.config, &vm::stats()) {
            host::reply(reply.status, &reply.headers, &reply.body);
            return (Some(StreamState::own_reply(None, None)), Action::Pause);
        }
        if let Some(state) = self.answer_endpoint(stream) {
            return (Some(state), Action::Pause);
        }
        let in_flight = match self.overflow.route(origin, &ProxyHints) {
            Route::Unchanged => self.count_in_flight(),
            // It does not go to the Service that it would be counted for.
            Route::Changed => None,
        };
        let has_gate_header = self.has_gate_header();
        let flags = StreamFlags {
            has_gate_header,
            orca_request: self.orca_request(),
            is_own_reply: false,
        };
        let state = (flags != StreamFlags::default() || in_flight.is_some()).then(|| StreamState {
            flags,
            in_flight,
            ..StreamState::default()
        });
        (state, Action::Continue)
    }

    /// Handles a request on the filter chain of the metrics APIs. Their responses get no header.
    fn handle_metrics_request(&self, stream: u32) -> Option<(StreamState, Action)> {
        Some(match self.metrics_apis.as_ref()?.handle_request(stream)? {
            Disposition::Answered(bulk) => (StreamState::own_reply(bulk, None), Action::Pause),
            Disposition::Delegated => (StreamState::own_reply(None, None), Action::Continue),
            Disposition::Pending(guard) => {
                let held = Some(HeldStream::Review(guard));
                (StreamState::own_reply(None, held), Action::Pause)
            }
        })
    }

    /// Answers a request for `/burstmetrics`, of this stream, or lets it wait.
    fn answer_endpoint(&self, stream: u32) -> Option<StreamState> {
        let config = &self.view.config;
        let endpoints = config.endpoints.as_ref()?;
        let path = host::request_header(":path").unwrap_or_default();
        if !burst::is_own(endpoints, &path) {
            return None;
        }
        let [method, authority] = [":method", ":authority"].map(|name| host::request_header(name).unwrap_or_default());
        let if_none_match = host::request_header("if-none-match");
        let accept = endpoints.page.then(|| host::request_header("accept")).flatten();
        let request = BurstRequest {
            method: &method,
            path: &path,
            host: &authority,
            accept: accept.as_deref(),
            if_none_match: if_none_match.as_deref(),
            now: host::now(),
        };
        let is_head = method == b"HEAD";
        let reply = burst::answer(config, endpoints, &mut self.view.cache.borrow_mut(), request)?;
        let reply = match reply {
            BurstReply::Now(reply) => reply,
            BurstReply::Waiting(waiting) => match self.long_polls.hold(waiting, stream, is_head) {
                Some(guard) => return Some(StreamState::own_reply(None, Some(HeldStream::LongPoll(guard)))),
                None => burst::too_many_waiting(config, &self.view.cache.borrow(), request.now),
            },
        };
        if is_head {
            local_reply::send(&reply);
            return Some(StreamState::own_reply(None, None));
        }
        let bulk = local_reply::send_or(&reply, || burst::busy(&reply));
        Some(StreamState::own_reply(bulk, None))
    }

    fn has_gate_header(&self) -> bool {
        let gate = self.view.config.header.condition.as_ref();
        gate.is_some_and(|gate| host::request_header(&gate.name).is_some_and(|value| value.starts_with(&gate.prefix)))
    }

    fn orca_request(&self) -> OrcaRequest {
        let config = self.view.config.orca.as_ref();
        config.map_or_else(OrcaRequest::default, |_| {
            OrcaRequest::of(host::request_header(orca::REQUEST_HEADER).as_deref())
        })
    }

    fn count_in_flight(&self) -> Option<InFlightRequest> {
        let config = &self.view.config;
        let counter = self
            .counter
            .as_ref()
            .filter(|_| config.requests.as_ref().is_some_and(|requests| requests.in_flight))?;
        let cluster = host::cluster_name().unwrap_or_default();
        counter.clone().begin(&config.upstreams, &cluster, &ProxyHints)
    }

    /// Counts the current response and puts the headers on it, unless the filter itself has sent it.
    pub(crate) fn handle_response(&self, flags: StreamFlags) {
        if flags.is_own_reply {
            return;
        }
        let cluster = ResponseCluster::default();
        self.count_response(&cluster);
        self.set_burst_header(flags, &cluster);
        let (config, stats) = (&self.view.config, vm::stats());
        if let Some(config) = &config.degraded {
            degraded::mark_response(config, self.upstream(&cluster), &stats);
        }
        if let Some(config) = config.retry_after {
            self.retry_after.delay_client(config, self.upstream(&cluster), &stats);
        }
        if let Some(config) = config.orca {
            let report = self.upstream(&cluster).and_then(|upstream| upstream.orca.as_ref());
            load_report::apply(config, flags.orca_request, report);
        }
    }

    fn set_burst_header(&self, flags: StreamFlags, cluster: &ResponseCluster) {
        let (header, stats) = (&self.view.config.header, vm::stats());
        if header.upstream == UpstreamHeader::Keep && host::has_response_header(&header.name) {
            return stats.header_upstream_kept.count();
        }
        if header.condition.is_some() && !flags.has_gate_header {
            stats.header_gated.count();
            return host::set_response_header(&header.name, None);
        }
        let upstream = self.upstream(cluster);
        let value = upstream.map_or(Err(&Absence::NoCluster), |upstream| upstream.header.as_ref());
        match value {
            Ok(value) => {
                stats.header_added.count();
                host::set_response_header(&header.name, Some(value));
            }
            Err(absence) => {
                stats.count_absence(*absence);
                host::set_response_header(&header.name, None);
            }
        }
    }

    fn count_response(&self, cluster: &ResponseCluster) {
        if let Some(counter) = &self.counter
            && let Some(cluster) = cluster.name()
        {
            let status = host::response_header(":status").unwrap_or_default();
            let endpoint = || host::property(&["upstream", "address"]);
            counter.answered(&self.view.config.upstreams, cluster, &ProxyHints, &status, endpoint);
        }
    }

    /// What a response from its cluster gets, looked up at most once for a response. `None` if there is no cluster.
    fn upstream<'a>(&self, cluster: &'a ResponseCluster) -> Option<&'a CachedUpstream> {
        let look_up = |name: &[u8]| {
            let mut cache = self.view.cache.borrow_mut();
            cache.upstream(&self.view.config, name, &ProxyHints)
        };
        let upstream = cluster.upstream.get_or_init(|| cluster.name().map(look_up));
        upstream.as_deref()
    }
}

/// The cluster that the response comes from.
#[derive(Default)]
struct ResponseCluster {
    /// Read from the host at most once.
    name: OnceCell<Option<Vec<u8>>>,
    upstream: OnceCell<Option<Rc<CachedUpstream>>>,
}

impl ResponseCluster {
    fn name(&self) -> Option<&[u8]> {
        self.name.get_or_init(host::cluster_name).as_deref()
    }
}

/// What the host knows of the current upstream cluster and of the proxy.
struct ProxyHints;

impl UpstreamHints for ProxyHints {
    fn service(&self, index: usize) -> Option<IstioService> {
        const SERVICES: [&str; 5] = ["xds", "cluster_metadata", "filter_metadata", "istio", "services"];
        let index = index.to_string();
        let part = |name| host::text_property(&[&SERVICES[..], &[index.as_str(), name]].concat());
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
        if part("kind")? != "Service" {
            return None;
        }
        ObjectName::new(&part("namespace")?, &part("name")?).ok()
    }
}
